"""The command among other programs: pipes that close, disks that are full, names of any bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(0).integers(20, 200, (300, 400, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    mask = np.zeros((300, 400), np.uint8)
    mask[:, :100] = 255
    Image.fromarray(mask).save(tmp_path / "mask.tif")
    return tmp_path / "photo.png"


def shell(line: str, folder: Path, weights: Path) -> subprocess.CompletedProcess[str]:
    """Run a line in which `deshadow` is the command, with a mask and weights."""
    command = f"{sys.executable} -m deshadow --mask mask.tif --weights {weights}"
    done = subprocess.run(
        ["bash", "-c", line.replace("deshadow", command)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


@pytest.mark.parametrize(
    "line", ["deshadow photo.png -o -", "deshadow photo.png", "deshadow photo.png --json -"]
)
def test_a_reader_that_has_gone_ends_it_quietly(line: str, photo: Path, exported: Path) -> None:
    done = shell(f"{line} | true; exit ${{PIPESTATUS[0]}}", photo.parent, exported)
    assert done.returncode == 1
    assert "deshadow: " not in done.stderr


@pytest.mark.parametrize("options", ["-o -", "--json -", ""])
def test_a_full_disk_behind_standard_output_is_one_line(options: str, photo: Path, exported: Path) -> None:
    done = shell(f"deshadow photo.png {options} > /dev/full", photo.parent, exported)
    assert done.returncode == 2
    assert "No space left" in done.stderr


def test_closed_streams_do_no_harm(photo: Path, exported: Path) -> None:
    assert shell("deshadow photo.png <&- >&- 2>&-", photo.parent, exported).returncode == 0
    assert (photo.parent / "photo.deshadowed.png").exists()
    done = shell("deshadow photo.png -o - >&-", photo.parent, exported)
    assert done.returncode == 2
    assert "photo.png: standard output is closed" in done.stderr
    done = shell("deshadow photo.png --json - >&-", photo.parent, exported)
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr
    done = shell("deshadow - <&-", photo.parent, exported)
    assert done.returncode == 2
    assert "standard input is empty" in done.stderr


def test_names_of_any_bytes_and_any_length(photo: Path, exported: Path) -> None:
    names = [os.fsdecode(b"\xff\xfe.png"), "two\nlines.png", "*[a]?.png", "ä" * 118 + ".png", " .png"]
    for name in names:
        (photo.parent / "in").mkdir(exist_ok=True)
        (photo.parent / "in" / name).write_bytes(photo.read_bytes())
    done = shell("deshadow in --json report.json", photo.parent, exported)
    assert done.returncode == 0, done.stderr
    for name in names:
        assert (photo.parent / "in" / name.replace(".png", ".deshadowed.png")).exists()
    told = json.loads((photo.parent / "report.json").read_text())["photos"]
    assert sorted(Path(each["photo"]).name for each in told) == sorted(names)


def test_pipes_are_written_to_and_links_stay(photo: Path, exported: Path) -> None:
    folder = photo.parent
    lines = (
        "mkfifo pipe; cat pipe > through.json & deshadow photo.png --json pipe; wait",
        "deshadow photo.png --json >(cat > substituted.json) && wait $!",
        "deshadow photo.png --json /dev/stderr 2> errors.json",
        "ln -s target.png link.png; deshadow photo.png -o link.png",
    )
    for line in lines:
        assert shell(line, folder, exported).returncode == 0
    for name in ("through.json", "substituted.json", "errors.json"):
        assert json.loads((folder / name).read_text())["photos"][0]["state"] == "done"
    assert (folder / "pipe").is_fifo()
    assert (folder / "link.png").is_symlink()
    with Image.open(folder / "target.png") as written:
        assert written.size == (400, 300)
