"""Finding shadows without removing them, pictures to look at, and what doctor says."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from deshadow.cli.app import main
from deshadow.cli.doctor import examine
from deshadow.photo import read_photo
from deshadow.removal import sheets
from deshadow.removal.remover import Remover


def dark(pixels: np.ndarray) -> np.ndarray:
    """(B, 3, H, W) in [-1, 1] → a detector's answer: what is dark is shadow."""
    found: np.ndarray = pixels.mean(axis=1, keepdims=True) < -0.2
    return found.astype(np.float32)


@pytest.fixture
def photo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two shadows on grey, found by a detector that tells dark from light."""
    monkeypatch.setattr(Remover, "detector", staticmethod(dark))
    codes = np.full((90, 120, 3), 200, np.uint8)
    codes[10:70, 10:50] = 40
    codes[30:60, 80:100] = 50
    path = tmp_path / "photo.png"
    Image.fromarray(codes).save(path)
    return path


def test_the_mask_is_white_in_the_shadows_and_the_overlay_numbers_them(
    photo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mask, overlay = photo.with_name("mask.png"), photo.parent / "seen/overlay.jpg"
    with pytest.raises(SystemExit) as end:
        main(["detect", str(photo), "-o", str(mask), "--overlay", str(overlay)])
    assert not end.value.code
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{mask}: found 2 shadows, 28 % of the photo"
    assert printed[2].startswith("1: 22.2 % of the photo, at ")
    x, y = map(int, printed[2].rpartition(" ")[2].split(","))
    found = read_photo(mask).codes[..., 0]
    assert set(np.unique(found)) == {0, 255}
    assert np.array_equal(found > 0, read_photo(photo).codes[..., 0] < 100)
    assert 10 <= x < 50
    assert 10 <= y < 70
    assert read_photo(overlay).codes.shape == (90, 120, 3)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("photo.png", "overwritten"),
        ("mask.jpg", "blur"),
        ("mask", "must end"),
        (".", "must end"),
        ("/proc/mask.png", "/proc cannot be written to"),
    ],
)
def test_detect_refuses_in_one_line(
    output: str, words: str, photo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = photo.read_bytes()
    with pytest.raises(SystemExit) as end:
        main(["detect", str(photo), "-o", str(photo.parent / output)])
    printed = capsys.readouterr()
    assert end.value.code == 2
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert photo.read_bytes() == before


def test_no_shadow_gives_a_black_mask(
    tmp_path: Path, photo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.new("RGB", (30, 20), "white").save(tmp_path / "white.png")
    with pytest.raises(SystemExit):
        main(["detect", str(tmp_path / "white.png"), "-o", str(tmp_path / "m.png")])
    assert "no shadow found" in capsys.readouterr().out
    assert not read_photo(tmp_path / "m.png").codes.any()


def test_an_overlay_marks_each_shadow_in_a_colour_of_its_own() -> None:
    picture = np.full((200, 300, 3), 0.5, np.float32)
    labels = np.zeros((200, 300), np.int32)
    labels[20:120, 20:120], labels[50:90, 200:260], labels[199, 299] = 1, 2, 3
    drawn = np.asarray(sheets.draw_overlay(picture, labels))
    colours = {tuple(colour) for colour in drawn.reshape(-1, 3).tolist()}
    assert {(255, 96, 0), (0, 122, 255), (52, 168, 83)} <= colours
    assert tuple(drawn[0, 150]) > (127, 127, 127)  # pale outside
    assert tuple(drawn[100, 30]) == (128, 128, 128)  # as it was inside


def test_doctor_says_what_is_missing_and_how_fast_it_is(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESHADOW_CACHE", "/folder/of/mine")
    console = Console(width=200, record=True, quiet=False)
    with console.capture() as captured:
        for table in examine(weights=str(exported), detector="sunny", runtime="onnxruntime"):
            console.print(table)
    said = captured.get()
    assert "by onnxruntime in float32 on cpu, a pass at 256×256 in " in said
    assert "cannot run: no weights 'sunny'" in said
    assert "PNG" in said
    assert "16 bits too" in said
    assert "MiB in /folder/of/mine; DESHADOW_CACHE=off switches it off" in said
    assert said.count("pip install '.[") == said.count("without ") + said.count("not read: ")
