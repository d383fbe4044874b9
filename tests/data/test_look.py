"""Contact sheets, tables and plots, and the commands as a user runs them."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from deshadow.data import look
from deshadow.data.pairs.find import find
from deshadow.data.pairs.sample import Triplet
from deshadow.image.sheets import Card, draw_sheet


def write_set(folder: Path, count: int = 3, size: tuple[int, int] = (60, 80)) -> None:
    for seed in range(count):
        clean = np.random.default_rng(seed).integers(90, 250, (*size, 3), dtype=np.uint8)
        mask = np.zeros(size, np.uint8)
        mask[10:40, 10:40] = 255
        picture = np.where(mask[..., None] > 0, clean // 2, clean)
        for part, pixels in (("shadow", picture), ("mask", mask), ("shadow_free", clean)):
            (folder / part).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / part / f"photo{seed}.png")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deshadow", "data", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command_draws_and_prints(tmp_path: Path) -> None:
    write_set(tmp_path / "set")
    sheet, plot = tmp_path / "out/sheet.png", tmp_path / "out/plot.svg"
    ended = run("look", tmp_path / "set", "-o", sheet, "--dark-rate", plot, "--count", "2")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = {line.split("  ")[0]: line for line in ended.stdout.splitlines()}
    assert lines["pairs"].split()[1] == "3"
    assert "80 × 60 (3)" in lines["sizes"]
    assert "19 % median" in lines["shadow fraction"]
    assert lines["problems"].split()[1] == "0"
    with Image.open(sheet) as image:
        assert image.width > image.height > 200
    assert plot.read_text().lstrip().startswith("<?xml")
    assert sorted(path.name for path in sheet.parent.iterdir()) == ["plot.svg", "sheet.png"]


def test_command_lists_problems_in_one_line_or_goes_on(tmp_path: Path) -> None:
    write_set(tmp_path / "set")
    (tmp_path / "set/shadow_free/photo1.png").unlink()
    ended = run("look", tmp_path / "set", "-o", tmp_path / "sheet.png")
    assert ended.returncode == 2
    assert ended.stderr.startswith("deshadow: 1 problem: ")
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "sheet.png").exists()
    ended = run("look", tmp_path / "set", "-o", tmp_path / "sheet.png", "--skip-problems")
    assert ended.returncode == 0
    assert "photo1.png: no partner in shadow_free/" in ended.stdout
    assert (tmp_path / "sheet.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "sheet.txt"], "should end in one of .png"),
        (["-o", "sheet.png", "--count", "0"], "at least one triplet"),
        (["-o", "sheet.png", "--split", "val"], "it has no splits"),
        (["-o", "sheet.png", "--layout", "coco"], "coco"),
        (["-o", "sheet.png", "--dark-rate", "plot.jpg"], "should end in one of .png, .svg"),
    ],
)
def test_command_refuses_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    write_set(tmp_path / "set", count=1)
    command = [str(tmp_path / part) if part.startswith(("sheet", "plot")) else part for part in arguments]
    ended = run("look", tmp_path / "set", *command)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_sheet_never_lands_among_the_pictures(tmp_path: Path) -> None:
    write_set(tmp_path)
    with pytest.raises(ValueError, match="lies among the pictures"):
        look.look(tmp_path, tmp_path / "shadow/photo0.png")


def test_a_sheet_never_replaces_a_picture_behind_a_link(tmp_path: Path) -> None:
    write_set(tmp_path / "set")
    photo = tmp_path / "photo.png"
    linked = next((tmp_path / "set" / "shadow").iterdir())
    linked.rename(photo)
    linked.symlink_to(photo)
    with pytest.raises(ValueError, match="lies among the pictures"):
        look.look(tmp_path / "set", photo)


def test_pictures_too_small_to_align_are_shown_all_the_same(tmp_path: Path) -> None:
    write_set(tmp_path / "set", size=(1, 300))
    found = look.look(tmp_path / "set", tmp_path / "sheet.png")
    assert all(np.isnan(figures.misalignment) for figures in found.figures)


def test_a_picture_that_breaks_while_measuring(tmp_path: Path) -> None:
    write_set(tmp_path)
    pairs = find(tmp_path)
    path = tmp_path / "shadow/photo2.png"
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ValueError, match=r"1 problem: .*photo2\.png"):
        look.survey(pairs)
    found = look.survey(pairs, skip_problems=True)
    assert [sample.name for sample in found.samples] == ["photo0", "photo1"]
    assert len(found.problems) == 1


def test_table_tells_derived_masks_and_unknown_figures(tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / "mask/photo0.png").unlink()
    Image.new("L", (80, 60)).save(tmp_path / "mask/photo1.png")
    console = Console(width=120, file=io.StringIO())
    with console.capture() as captured:
        console.print(look.make_table(look.survey(find(tmp_path))))
    text = captured.get()
    assert "1 derived from the pair" in text
    assert "unknown for 1" in text


def test_plot_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_set(tmp_path / "set")
    monkeypatch.setattr("deshadow.system.extras.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"'\.\[train\]'"):
        look.look(tmp_path / "set", tmp_path / "sheet.png", dark_rate=tmp_path / "plot.png")


def test_sheet_shows_the_three_pictures_and_the_outline() -> None:
    picture, clean = np.full((90, 120, 3), 60, np.uint8), np.full((90, 120, 3), 200, np.uint8)
    mask = np.zeros((90, 120), np.uint8)
    mask[30:60, 40:80] = 255
    card = Card(look.draw_views(Triplet(picture, mask, clean), (272, 204)), "a" * 300, "note")
    sheet = np.asarray(draw_sheet([card], title="title", note="note"))
    colours = {tuple(colour) for colour in np.unique(sheet.reshape(-1, 3), axis=0).tolist()}
    assert {(60, 60, 60), (200, 200, 200), (255, 96, 0)} <= colours
    assert (sheet[:, -20:] == 255).all()  # a long name is shortened, not cut off
