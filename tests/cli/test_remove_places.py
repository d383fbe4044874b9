"""Masks and outputs that do not fit: each is refused in one line, and nothing is overwritten."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import Command, Ended, failed_in_one_line, names, write_mask, write_photo
from PIL import Image

from deshadow.photo import read_photo
from deshadow.removal.remover import Remover


def test_a_mask_of_another_size_is_scaled_and_of_another_shape_refused(
    tmp_path: Path, deshadow: Command
) -> None:
    before = write_photo(tmp_path / "photo.png")
    wrong = write_mask(tmp_path / "square.png", (40, 40))
    ended = deshadow(tmp_path / "photo.png", "--mask", wrong)
    failed_in_one_line(ended, "the mask has 40 × 40 pixels and the photo 56 × 40")
    assert not (tmp_path / "photo.deshadowed.png").exists()
    assert deshadow(tmp_path / "photo.png", "--mask", write_mask(tmp_path / "m.png", (20, 28))).code == 0
    after = read_photo(tmp_path / "photo.deshadowed.png").codes
    assert after.shape == before.shape
    assert np.array_equal(after[:, 36:], before[:, 36:])


def test_an_empty_mask_leaves_the_photo_as_it_is(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "photo.jpg")
    Image.new("L", (56, 40)).save(tmp_path / "m.png")
    ended = deshadow(tmp_path / "photo.jpg", "--mask", tmp_path / "m.png")
    assert (ended.code, ended.err) == (0, "")
    assert "the mask is empty, so this is" in ended.out
    assert "no shadow found" not in ended.out
    assert (tmp_path / "photo.deshadowed.jpg").read_bytes() == (tmp_path / "photo.jpg").read_bytes()


def test_a_mask_given_twice_is_refused(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "photo.png")
    one, two = write_mask(tmp_path / "m/photo.png"), write_mask(tmp_path / "m/photo.bmp")
    failed_in_one_line(deshadow(tmp_path / "photo.png", "--mask", one, "--mask", two), "--mask")
    (tmp_path / "m/photo.png").rename(tmp_path / "m/photo.tif")
    failed_in_one_line(deshadow(tmp_path / "photo.png", "--mask", tmp_path / "m"), "several masks")
    for each in (tmp_path / "m").iterdir():
        each.unlink()
    failed_in_one_line(deshadow(tmp_path / "photo.png", "--mask", tmp_path / "m"), "no mask for this photo")
    assert names(tmp_path) == ["photo.png"]


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "photo.png")
    mask = write_mask(tmp_path / "m.png")
    failed_in_one_line(deshadow(tmp_path / "photo.png", "--mask", mask, "-o", "/proc/nowhere/"), "-o")
    failed_in_one_line(deshadow(tmp_path / "photo.png", "--mask", mask, "-o", mask / "x.png"), "-o")


def test_a_folder_that_takes_no_files_is_noticed_before_the_work(
    tmp_path: Path, deshadow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_photo(tmp_path / "photo.png")
    mask = write_mask(tmp_path / "m.png")
    monkeypatch.setattr(Remover, "select", lambda *_: pytest.fail("it has begun to work"))
    for place in ("-o", "/proc/x.png"), ("--json", "/proc/x.json"):
        ended = deshadow(tmp_path / "photo.png", "--mask", mask, *place)
        failed_in_one_line(ended, "/proc cannot be written to", "-o")
    assert names(tmp_path) == ["m.png", "photo.png"]


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, weights: Path) -> None:
    write_photo(tmp_path / "photo.png", (64, 64))
    mask = write_mask(tmp_path / "m.png", (64, 64))
    code = (
        "import resource, sys; from deshadow.cli.app import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); main(sys.argv[1:])"
    )
    arguments = [tmp_path / "photo.png", "--mask", mask, "--weights", weights]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    failed_in_one_line(Ended(done.returncode, done.stdout, done.stderr), "cannot be written")
    assert names(tmp_path) == ["m.png", "photo.png"]


def test_an_input_is_never_overwritten(tmp_path: Path, deshadow: Command) -> None:
    photo, mask = tmp_path / "photo.png", write_mask(tmp_path / "m.png")
    write_photo(photo)
    (tmp_path / "link.png").hardlink_to(photo)
    data = photo.read_bytes()
    for place in (photo, tmp_path, tmp_path / "link.png", mask, tmp_path / "x/../photo.png"):
        failed_in_one_line(deshadow(photo, "--mask", mask, "-o", place), "overwritten")
    failed_in_one_line(deshadow(photo, "--mask", mask, "--json", photo), "overwritten")
    write_photo(tmp_path / "photo.deshadowed.mask.png")
    kept = tmp_path / "photo.deshadowed.mask.png"
    failed_in_one_line(deshadow(photo, "--mask", kept, "--save-mask"), "overwritten")
    assert photo.read_bytes() == data


def test_what_is_not_there_and_what_is_a_folder(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "in/a.png")
    write_photo(tmp_path / "in/b.png")
    mask = write_mask(tmp_path / "m.png")
    failed_in_one_line(deshadow(tmp_path / "no.jpg"), "no.jpg: file not found")
    failed_in_one_line(deshadow(tmp_path / "no*.jpg"), "no photos")
    failed_in_one_line(deshadow("frobnicate"), "no such command or file")
    failed_in_one_line(deshadow(tmp_path / "in", "--mask", tmp_path / "no.png"), "no.png: file not found")
    failed_in_one_line(
        deshadow(tmp_path / "in", "--mask", mask, "-o", tmp_path / "one.png"), "several photos"
    )
    (tmp_path / "taken.png").mkdir()
    (tmp_path / "taken.png/a.png").mkdir()
    failed_in_one_line(
        deshadow(tmp_path / "in/a.png", "--mask", mask, "-o", tmp_path / "taken.png"), "a folder"
    )
    assert names(tmp_path) == ["in/a.png", "in/b.png", "m.png"]


def test_a_photo_is_not_its_own_mask(tmp_path: Path, deshadow: Command) -> None:
    photo = tmp_path / "p.jpg"
    Image.linear_gradient("L").resize((56, 40)).convert("RGB").save(photo)
    failed_in_one_line(deshadow(photo, "--mask", photo), "is the photo itself")
    failed_in_one_line(deshadow(photo, "--mask", tmp_path), "has no mask for this photo")
    mask = write_mask(tmp_path / "p.png")
    assert deshadow(photo, "--mask", tmp_path, "--save-mask").code == 0
    written = read_photo(tmp_path / "p.deshadowed.mask.png").codes[..., 0]
    assert np.array_equal(written, np.asarray(Image.open(mask)))


def test_an_empty_argument_is_not_the_current_folder(
    tmp_path: Path, deshadow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_photo(tmp_path / "a.png")
    monkeypatch.chdir(tmp_path)
    for arguments in ([""], ["a.png", "--mask", ""], ["a.png", "--json", ""]):
        failed_in_one_line(deshadow(*arguments), "an argument is empty")
    assert names(tmp_path) == ["a.png"]


def test_what_cannot_be_meant_is_said(
    tmp_path: Path, deshadow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_photo(tmp_path / "-a.png")
    monkeypatch.chdir(tmp_path)
    failed_in_one_line(deshadow("-a.png"), "./-a.png names the file")
    failed_in_one_line(deshadow("./-a.png", "--invert-mask"), "give one with --mask")
    failed_in_one_line(deshadow("./-a.png", "-o", "/dev/null"), "/dev/null is not a folder")


def test_all_shadows_excluded_is_not_no_shadow(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "a.png")
    ended = deshadow(tmp_path / "a.png", "--mask", write_mask(tmp_path / "m.png"), "--exclude", 1)
    assert "all shadows are excluded, so this is" in ended.out


def test_variants_of_a_photo_without_shadow_are_skipped_too(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "a.png")
    write_mask(tmp_path / "m.png")
    Image.new("L", (56, 40)).save(tmp_path / "empty.png")
    for chosen, there in (("empty.png", "a.deshadowed.png"), ("m.png", "a.deshadowed.2.png")):
        again = (tmp_path / "a.png", "--mask", tmp_path / chosen, "--variants", 2, "--seed", 0)
        assert deshadow(*again).code == 0
        assert f"{there}: exists already, skipped" in deshadow(*again, "--skip-existing").out
