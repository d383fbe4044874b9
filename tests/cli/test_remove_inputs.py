"""Photos of every kind, readable or not: a result, or one line and exit code 2."""

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from commands import Command, Ended, failed_in_one_line, names, write_mask, write_photo
from PIL import Image

from deshadow.photo import read_photo


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
