"""Ctrl-C while `deshadow PHOTOS` works: nothing half-written is left, and the message says what is done."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from deshadow.cli.messages import describe_stop
from deshadow.removal.outcomes import Outcome

NAMES = ["a.png", "b.png", "c.png"]
SLOW = """
import sys, time
from pathlib import Path
from deshadow.system import files
from deshadow.removal import remover, modes
from deshadow.cli.app import main
stage, begun, *arguments = sys.argv[1:]
if stage == "work":
    def relight(self, pixels, mask, options, progress):
        Path(begun).touch()
        while True:
            time.sleep(0.02)
            progress(modes.Progress(0.5, "quick"))
    remover.Remover.relight = relight
else:
    def fsync(number):
        Path(begun).touch()
        time.sleep(30)
    files.os.fsync = fsync
main(arguments)
"""


# With several workers a write is not broken off, but ended: there is nothing to wait for.
@pytest.mark.parametrize(("stage", "workers"), [("work", 1), ("work", 2), ("write", 1)])
def test_interrupted(stage: str, workers: int, tmp_path: Path, exported: Path) -> None:
    photos, mask, begun = tmp_path / "in", tmp_path / "m.png", tmp_path / "begun"
    photos.mkdir()
    for path in (*(photos / name for name in NAMES), mask):
        Image.new("L", (56, 40), 255).save(path)
    arguments = [photos, "--mask", mask, "--weights", exported, "--workers", workers]
    command = [sys.executable, "-c", SLOW, stage, str(begun), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not begun.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert errors == "deshadow: stopped: 0 of 3 photos are done; --skip-existing continues with the others\n"
    assert sorted(path.name for path in photos.iterdir()) == NAMES


def test_what_ctrl_c_says() -> None:
    done, failed = Outcome("a.jpg", "done"), Outcome("b.jpg", "failed")
    assert describe_stop([done, failed], 5).startswith("stopped: 1 of 5 photos are done; ")
    assert describe_stop([], 1) == "stopped before the photo was done"
