"""The command as a user runs it, on real files: results, places, masks, streams, bad input."""

import io
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from deshadow.photo import read_photo
from deshadow.removal.remover import Remover


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def weights(exported: Path) -> Path:
    return exported


@pytest.fixture
def deshadow(weights: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process, with weights of its own."""
    from deshadow.cli.app import main

    def run(*arguments: object) -> Ended:
        code = 0
        try:
            main([*map(str, arguments), "--weights", str(weights)])
        except SystemExit as end:
            code = int(end.code or 0)
        return Ended(code, *capsys.readouterr())

    return run


def write_photo(path: Path, size: tuple[int, int] = (40, 56), seed: int = 0, **options: Any) -> np.ndarray:
    codes = np.random.default_rng(seed).integers(20, 200, (*size, 3), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(codes).save(path, **options)
    return codes


def write_mask(path: Path, size: tuple[int, int] = (40, 56)) -> Path:
    """Its left quarter is shadow."""
    mask = np.zeros(size, np.uint8)
    mask[:, : max(1, size[1] // 4)] = 255
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(mask).save(path)
    return path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def failed_in_one_line(ended: Ended, *words: str) -> None:
    assert ended.code == 2
    assert ended.err.startswith("deshadow: ")
    assert ended.err.count("\n") == 1, ended.err
    for word in words:
        assert word in ended.err


# What it does


def test_the_result_lies_beside_the_photo_and_is_the_same_outside(tmp_path: Path, deshadow: Command) -> None:
    photo, mask = tmp_path / "photo.png", write_mask(tmp_path / "masks/m.png")
    before = write_photo(photo)
    data = photo.read_bytes()
    ended = deshadow(photo, "--mask", mask)
    assert (ended.code, ended.err) == (0, "")
    assert "photo.deshadowed.png: " in ended.out
    assert photo.read_bytes() == data
    after = read_photo(tmp_path / "photo.deshadowed.png").codes
    changed = (after != before).any(axis=2)
    assert changed[:, :8].mean() > 0.5
    assert not changed[:, 36:].any()
    # A result is never taken as input again, whoever names it.
    again = deshadow(tmp_path, tmp_path / "photo.deshadowed.png", "--mask", mask)
    assert again.code == 0
    assert names(tmp_path) == ["masks/m.png", "photo.deshadowed.png", "photo.png"]
    failed_in_one_line(deshadow(tmp_path / "photo.deshadowed.png", "--mask", mask), "rename")


def test_folders_patterns_and_a_folder_of_masks(tmp_path: Path, deshadow: Command) -> None:
    for index, name in enumerate(("a.png", "b.jpg", "deep/c.png", ".hidden.png")):
        write_photo(tmp_path / "in" / name, seed=index)
        write_mask(tmp_path / "masks" / Path(name).with_suffix(".png"))
    (tmp_path / "in/notes.txt").write_text("not a photo")
    out = tmp_path / "out"
    assert deshadow(tmp_path / "in", "--mask", tmp_path / "masks", "-o", out).code == 0
    assert names(out) == ["a.png", "b.jpg"]
    assert deshadow(tmp_path / "in", "--mask", tmp_path / "masks", "-o", out, "--recursive").code == 0
    assert names(out) == ["a.png", "b.jpg", "deep/c.png"]
    ended = deshadow(tmp_path / "in/*.png", "--mask", tmp_path / "masks", "-o", tmp_path / "matched")
    assert ended.code == 0
    assert names(tmp_path / "matched") == ["a.png"]


def test_what_is_there_already_can_be_skipped(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "a.png")
    mask = write_mask(tmp_path / "m/m.png")
    (tmp_path / "a.deshadowed.png").write_bytes(b"kept")
    ended = deshadow(tmp_path / "a.png", "--mask", mask, "--skip-existing")
    assert ended.code == 0
    assert "exists already" in ended.out
    assert (tmp_path / "a.deshadowed.png").read_bytes() == b"kept"


def test_mask_comparison_variants_and_report(tmp_path: Path, deshadow: Command) -> None:
    photo, mask = tmp_path / "p/photo.jpg", write_mask(tmp_path / "mask.png")
    photo.parent.mkdir()
    Image.linear_gradient("L").resize((56, 40)).convert("RGB").save(photo, quality=88)
    extras = ["--save-mask", "--compare", "--variants", 2, "--json", tmp_path / "r.json", "--seed", 5]
    assert deshadow(photo, "--mask", mask, "-o", tmp_path / "out.jpg", *extras).code == 0
    expected = ["mask.png", "out.1.jpg", "out.2.jpg", "out.compare.jpg", "out.mask.png", "out.sheet.png"]
    assert names(tmp_path) == [*expected, "p/photo.jpg", "r.json"]
    assert np.array_equal(read_photo(tmp_path / "out.mask.png").codes[..., 0], np.asarray(Image.open(mask)))
    assert read_photo(tmp_path / "out.compare.jpg").width > 2 * 56
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["options"]["seed"] == 5
    (entry,) = report["photos"]
    assert entry["state"] == "done"
    assert entry["shadow_share"] == pytest.approx(0.25)
    assert 0 < entry["compression_loss"]["mean"] < 3
    assert [Path(each).name for each in entry["outputs"]] != []


def test_the_format_follows_the_name_of_the_output(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "a.png")
    mask = write_mask(tmp_path / "m.png")
    assert deshadow(tmp_path / "a.png", "--mask", mask, "-o", tmp_path / "b.webp", "--quality", 80).code == 0
    assert read_photo(tmp_path / "b.webp").format == "WEBP"
    failed_in_one_line(deshadow(tmp_path / "a.png", "--mask", mask, "-o", tmp_path / "b.xyz"), "ending")


def test_streams(tmp_path: Path, weights: Path) -> None:
    photo, mask = tmp_path / "a.png", write_mask(tmp_path / "m.png")
    before = write_photo(photo)
    command = [sys.executable, "-m", "deshadow", "-", "--mask", str(mask), "--weights", str(weights)]
    ended = subprocess.run(command, input=photo.read_bytes(), capture_output=True, check=False)
    assert ended.returncode == 0
    after = read_photo(ended.stdout)
    assert after.format == "PNG"
    assert np.array_equal(after.codes[:, 36:], before[:, 36:])
    assert b"removed shadows from 25 % of the photo" in ended.stderr
    assert names(tmp_path) == ["a.png", "m.png"]


def test_several_workers_give_the_same_files(tmp_path: Path, deshadow: Command) -> None:
    for index in range(5):
        write_photo(tmp_path / f"in/{index}.png", seed=index)
    mask = write_mask(tmp_path / "m.png")
    for workers in (1, 3):
        ended = deshadow(tmp_path / "in", "--mask", mask, "-o", tmp_path / str(workers), "--workers", workers)
        assert ended.code == 0
    for index in range(5):
        one, three = (tmp_path / f"{workers}/{index}.png" for workers in (1, 3))
        assert one.read_bytes() == three.read_bytes()


def test_one_bad_photo_does_not_keep_the_others(tmp_path: Path, deshadow: Command) -> None:
    for name in ("a.png", "c.png"):
        write_photo(tmp_path / "in" / name)
    (tmp_path / "in/b.png").write_text("I am no picture")
    mask = write_mask(tmp_path / "m.png")
    ended = deshadow(tmp_path / "in", "--mask", mask, "-o", tmp_path / "out", "--json", tmp_path / "r.json")
    failed_in_one_line(ended, "b.png")
    assert names(tmp_path / "out") == ["a.png", "c.png"]
    states = [entry["state"] for entry in json.loads((tmp_path / "r.json").read_text())["photos"]]
    assert states == ["done", "failed", "done"]


def test_several_photos_end_with_a_summary_and_say_what_each_percentage_is(
    tmp_path: Path, deshadow: Command
) -> None:
    for name in ("a.png", "b.png", "c.png"):
        write_photo(tmp_path / "in" / name)
        write_mask(tmp_path / "masks" / name)
    Image.new("L", (56, 40)).save(tmp_path / "masks/b.png")
    (tmp_path / "in/c.png").write_text("I am no picture")
    where = ["--mask", tmp_path / "masks", "-o", tmp_path / "out"]
    ended = deshadow(tmp_path / "in", *where, "--workers", 1)
    assert ended.code == 2
    first, second, last = ended.out.splitlines()
    assert "a.png: removed shadows from 25 % of the photo (" in first
    assert " % with the margin around them) in " in first
    assert "the mask is empty" in second
    assert last.startswith("3 photos in ")
    assert last.endswith(" s: 1 done, 1 unchanged, 1 failed")
    (tmp_path / "in/c.png").unlink()
    again = deshadow(tmp_path / "in", *where, "--skip-existing").out.splitlines()
    assert again[-1].endswith(" s: 0 done, 0 unchanged, 0 failed, 2 skipped")
    alone = deshadow(tmp_path / "in/a.png", *where).out
    assert alone.count("\n") == 1


def test_alone_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    from deshadow.cli.app import main

    with pytest.raises(SystemExit) as end:
        main([])
    assert not end.value.code
    assert "--skip-existing" in capsys.readouterr().out


# Twenty kinds of bad input: one line and exit code 2, or a correct result


def bomb() -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (1, 1)).save(buffer, "PNG")
    data = bytearray(buffer.getvalue())
    data[16:24] = struct.pack(">II", 60_000, 60_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    return bytes(data)


def cut_short() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(
        buffer, "JPEG"
    )
    return buffer.getvalue()[:1500]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"hello", "not a photo"),
        (cut_short(), "incomplete"),
        (b"", "empty"),
        (bomb(), "million pixels"),
    ],
    ids=["not a picture", "truncated", "zero bytes", "decompression bomb"],
)
def test_bad_files(data: bytes, words: str, tmp_path: Path, deshadow: Command) -> None:
    (tmp_path / "photo.jpg").write_bytes(data)
    mask = write_mask(tmp_path / "m/m.png")
    failed_in_one_line(deshadow(tmp_path / "photo.jpg", "--mask", mask), words)
    assert names(tmp_path) == ["m/m.png", "photo.jpg"]


def test_a_broken_tiff_is_one_line_too(tmp_path: Path, weights: Path) -> None:
    write_photo(tmp_path / "whole.tif", compression="tiff_lzw")
    data = bytearray((tmp_path / "whole.tif").read_bytes())
    data[200:400] = b"\xfe\x37" * 100
    (tmp_path / "broken.tif").write_bytes(data)
    arguments = [tmp_path / "broken.tif", "--mask", write_mask(tmp_path / "m.png"), "--weights", weights]
    command = [sys.executable, "-m", "deshadow", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    failed_in_one_line(Ended(done.returncode, done.stdout, done.stderr), "broken.tif")


@pytest.mark.parametrize("size", [(1, 1), (10, 40_000)], ids=["1×1", "40,000×10"])
def test_extreme_sizes_give_a_result(size: tuple[int, int], tmp_path: Path, deshadow: Command) -> None:
    before = write_photo(tmp_path / "photo.png", size)
    mask = write_mask(tmp_path / "m.png", size)
    ended = deshadow(tmp_path / "photo.png", "--mask", mask)
    assert (ended.code, ended.err) == (0, "")
    after = read_photo(tmp_path / "photo.deshadowed.png").codes
    assert after.shape == before.shape
    assert np.array_equal(after[:, size[1] // 2 + 1 :], before[:, size[1] // 2 + 1 :])


def test_cmyk_palette_and_16_bit_grey_give_a_result(tmp_path: Path, deshadow: Command) -> None:
    codes = write_photo(tmp_path / "rgb.png")
    Image.fromarray(codes).convert("CMYK").save(tmp_path / "cmyk.tif")
    Image.fromarray(codes).quantize(32).save(tmp_path / "palette.png")
    Image.fromarray(codes[..., 0].astype(np.uint16) * 257).save(tmp_path / "grey.png")
    mask = write_mask(tmp_path / "m/m.png")
    for name in ("cmyk.tif", "palette.png", "grey.png"):
        ended = deshadow(tmp_path / name, "--mask", mask)
        assert (ended.code, ended.err) == (0, "")
        before, after = (
            read_photo(tmp_path / name),
            read_photo(tmp_path / f"{Path(name).stem}.deshadowed{Path(name).suffix}"),
        )
        assert after.codes.dtype == before.codes.dtype
        assert np.array_equal(after.codes[:, 36:], before.codes[:, 36:])
        assert not np.array_equal(after.codes, before.codes)


def test_the_first_frame_of_an_animation_is_taken_with_a_sentence(tmp_path: Path, deshadow: Command) -> None:
    frames = [Image.new("RGB", (56, 40), (80 + 40 * index, 90, 100)) for index in range(3)]
    frames[0].save(tmp_path / "photo.png", save_all=True, append_images=frames[1:])
    ended = deshadow(tmp_path / "photo.png", "--mask", write_mask(tmp_path / "m.png"))
    assert ended.code == 0
    assert "only the first was used" in ended.err
    assert read_photo(tmp_path / "photo.deshadowed.png").notes == ()


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


def test_a_gif_is_read_and_its_result_is_a_png(tmp_path: Path, deshadow: Command) -> None:
    frames = [Image.new("RGB", (56, 40), (80 + 40 * index, 90, 100)) for index in range(3)]
    frames[0].save(tmp_path / "photo.gif", save_all=True, append_images=frames[1:])
    write_mask(tmp_path / "masks/photo.png")
    ended = deshadow(tmp_path, "--mask", tmp_path / "masks")
    assert ended.code == 0
    assert "it has 3 frames or pages; only the first was used" in ended.err
    after = read_photo(tmp_path / "photo.deshadowed.png")
    assert (after.format, after.codes.shape) == ("PNG", (40, 56, 3))
    assert (after.codes[:, 36:] == (80, 90, 100)).all()


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


@pytest.mark.parametrize(
    "wrong",
    [
        ["--mode", "slow"],
        ["--steps", "0"],
        ["--steps", "1.5"],
        ["--variants", "1.5"],
        ["--quality", "90.5"],
        ["--strength", "2"],
        ["--sampler", "euler"],
        ["--at", "here"],
        ["--instance", "first"],
        ["--quality", "101"],
        ["--variants", "0"],
        ["--frobnicate"],
        ["--at", "900,900"],
        ["--instance", "7"],
    ],
)
def test_values_that_are_not_possible(wrong: list[str], tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "photo.png")
    mask = write_mask(tmp_path / "m/m.png")
    failed_in_one_line(deshadow(tmp_path / "photo.png", "--mask", mask, *wrong))
    assert names(tmp_path) == ["m/m.png", "photo.png"]


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("network", ["weights", "detector"])
def test_weights_that_are_not_there_are_said_once(
    network: str, workers: str, tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from deshadow.cli.app import main

    for name in ("a.png", "b.png"):
        write_photo(tmp_path / "in" / name)
    chosen = {"weights": str(weights), "detector": "detector"} | {network: "sunny"}
    options = [word for name, value in chosen.items() for word in (f"--{name}", value)]
    with pytest.raises(SystemExit) as end:
        main([str(tmp_path / "in"), "--workers", workers, *options])
    assert names(tmp_path / "in") == ["a.png", "b.png"]
    failed_in_one_line(Ended(int(end.value.code or 0), *capsys.readouterr()), "no weights 'sunny'")
