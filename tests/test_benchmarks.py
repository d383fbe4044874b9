"""The benchmark that compares two revisions, in a small repository whose older revision is slower."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
