"""The benchmark that compares two revisions, in a small repository whose older revision is slower.

Also what the benchmark at full resolution computes by itself: scores in strips, and seams between pieces.
"""

import importlib
import shutil
import subprocess
import sys
from dataclasses import astuple
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from deshadow.metrics.scores import score

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COMMAND = """
import json, time
from pathlib import Path
time.sleep({seconds})
Path("report.json").write_text(json.dumps({{"photos": [{{"shadow_share": {share}}}]}}))
"""


def compare(repository: Path, share: float = 0.4) -> "subprocess.CompletedProcess[str]":
    (repository / "benchmarks").mkdir()
    for name in ("against.py", "remove.py"):
        shutil.copy(BENCHMARKS / name, repository / "benchmarks")
    command = repository / "src" / "deshadow" / "__main__.py"
    command.parent.mkdir(parents=True)
    (command.parent / "__init__.py").touch()
    command.write_text(COMMAND.format(seconds=0.5, share=share))
    git = ["git", "-C", str(repository), "-c", "user.name=T", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "slow"]):
        subprocess.run([*git, *words], check=True)
    command.write_text(COMMAND.format(seconds=0.0, share=share))
    words = ["benchmarks/against.py", "HEAD", "--repeat", "2", "--only", "480×640, mask"]
    return subprocess.run([sys.executable, *words], cwd=repository, capture_output=True, text=True)


def test_the_ratio_of_two_revisions_is_printed(tmp_path: Path) -> None:
    done = compare(tmp_path)
    assert done.returncode == 0, done.stderr
    before, now, ratio, *peaks = map(float, done.stdout.splitlines()[-1].split()[-6:])
    assert before > 0.5 > now
    assert ratio == pytest.approx(now / before, abs=0.02)
    assert all(0 < peak < 2 for peak in peaks)


def test_a_photo_whose_shadow_is_small_is_not_measured(tmp_path: Path) -> None:
    done = compare(tmp_path, share=0.2)
    assert done.returncode != 0
    assert "the shadow found is too small" in done.stderr


@pytest.fixture
def full_resolution(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("full_resolution")


@pytest.mark.parametrize("height", [133, 300])
def test_scores_in_strips_are_those_of_the_whole_picture(full_resolution: ModuleType, height: int) -> None:
    truth = np.random.default_rng(0).integers(0, 256, (height, 600, 3), dtype=np.uint8)
    result, inside = (truth * 0.9).astype(np.uint8), np.zeros((height, 600), np.bool_)
    inside[20:-5, 30:300] = True
    strips, whole = full_resolution.score_in_strips(result, truth, inside), score(result, truth, inside)
    assert strips.energy == pytest.approx(whole.energy)
    for name, region in whole.regions.items():
        assert astuple(strips.regions[name]) == pytest.approx(astuple(region), rel=1e-5)


def test_pieces_are_stitched_where_they_differ_least(full_resolution: ModuleType) -> None:
    stitched = importlib.import_module("stitched_photos")
    difference = np.ones((40, 30, 3), np.float32)
    path = 15 + np.abs(np.arange(40) % 20 - 10)
    difference[np.arange(40), path] = 0
    seam = stitched.cut_seam(difference)
    assert (seam.argmax(axis=1) == path).all()
    assert (seam == (np.arange(30) >= path[:, None])).all()
