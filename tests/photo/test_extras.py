"""Formats beyond the usual ones: HEIC and camera raw, where the extras are installed, and GIF."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin
from profiles import DISPLAY_P3

from deshadow.photo import Photo, encode_photo, formats, read_photo
from deshadow.photo.photo import Metadata
from deshadow.photo.reading import read_size
from deshadow.removal.tasks import plan_tasks


def smooth(dtype: Any = np.uint8) -> np.ndarray:
    rows, columns = np.mgrid[:64, :96]
    planes = np.stack([90 + rows, 70 + columns, 120 + (rows + columns) // 2], axis=2)
    return (planes * (257 if dtype == np.uint16 else 1)).astype(dtype)


def upright_exif() -> bytes:
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "Maker", 1
    return exif.tobytes()


def test_messages_name_the_formats_that_are_installed_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[str]:
        messages = []
        for attempt in (
            lambda: read_photo(b"hello"),
            lambda: formats.format_of(Path("x.xyz")),
            lambda: plan_tasks([str(tmp_path)], None),
        ):
            with pytest.raises(ValueError, match=r"read|ending|ends in") as error:
                attempt()
            messages.append(str(error.value))
        return messages

    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    assert told()[0] == "the photo is not a photo that can be read: JPEG, PNG, TIFF, WebP, AVIF, BMP or GIF"
    for message in told():
        assert "heic" not in message.lower()
        assert "raw" not in message
        assert ".nef" not in message
    monkeypatch.setattr("deshadow.system.extras.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="heif"):
        formats.format_of(Path("x.heic"))
    monkeypatch.setattr(formats, "find_spec", lambda name: "installed")
    first, second, third = told()
    assert first.endswith("HEIC, GIF or camera raw")
    assert ".heic" in second
    assert ".nef" in third


@pytest.mark.parametrize("transparent", [False, True])
def test_the_first_frame_of_a_gif_is_read(transparent: bool) -> None:
    frames = [Image.new("P", (8, 6), index) for index in range(3)]
    for frame in frames:
        frame.putpalette([10, 20, 30, 200, 100, 50, 90, 90, 90])
    buffer = io.BytesIO()
    options = {"transparency": 0} if transparent else {}
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], **options)
    photo = read_photo(buffer.getvalue())
    assert photo.format == "GIF"
    assert photo.codes.tolist() == [[[10, 20, 30]] * 8] * 6
    assert (photo.alpha is not None) == transparent
    assert "only the first was used" in photo.notes[0]
    assert read_photo(encode_photo(photo)).format == "PNG"


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_heic_keeps_depth_profile_and_metadata(dtype: Any) -> None:
    pytest.importorskip("pillow_heif")
    source = Photo(smooth(dtype), None, "HEIF", Metadata(exif=upright_exif(), icc=DISPLAY_P3))
    photo = read_photo(encode_photo(source))
    assert (photo.format, photo.codes.dtype, photo.codes.shape) == ("HEIF", dtype, (64, 96, 3))
    assert photo.metadata.icc == DISPLAY_P3
    assert b"Maker" in photo.metadata.exif
    assert np.abs(photo.pixels - source.pixels).max() < 0.08
    assert np.abs(photo.pixels - source.pixels).mean() < 0.01
    again = read_photo(encode_photo(photo))
    assert again.codes.dtype == dtype
    assert b"Maker" in again.metadata.exif


def test_the_size_of_a_heic_is_in_its_header() -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    buffer = io.BytesIO()
    pillow_heif.from_pillow(Image.new("RGB", (640, 384))).save(buffer)
    assert read_size(buffer.getvalue()) == (640, 384)


def test_a_turned_heic_is_upright() -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(smooth())).save(buffer, exif=exif.tobytes(), quality=95)
    photo = read_photo(buffer.getvalue())
    expected = np.rot90(smooth(), -1) if photo.height == 96 else smooth()
    assert np.abs(photo.codes.astype(int) - expected).mean() < 3
    written = read_photo(encode_photo(photo))
    assert (written.height, written.width) == (photo.height, photo.width)


def test_camera_raw_is_developed_and_written_as_deep_tiff(tmp_path: Path) -> None:
    pytest.importorskip("rawpy")
    path = tmp_path / "photo.dng"
    path.write_bytes(mosaic())
    for photo in (read_photo(path), read_photo(path.read_bytes())):
        assert photo.format == "RAW"
        assert photo.codes.dtype == np.uint16
        assert photo.codes.shape[2] == 3
    written = read_photo(encode_photo(photo))
    assert written.format == "TIFF"
    assert written.codes.dtype == np.uint16
    assert np.array_equal(written.codes, photo.codes)


def mosaic() -> bytes:
    """A grey DNG of 64 × 48, as a sensor with a Bayer filter sees it."""
    samples = np.full((48, 64), 20_000, "<u2")
    tags: dict[int, tuple[int, Any]] = {
        254: (4, 0), 256: (4, 64), 257: (4, 48), 258: (3, 16), 259: (3, 1), 262: (3, 32803),
        271: (2, "Maker"), 272: (2, "Model"), 273: (4, 0), 274: (3, 1), 277: (3, 1), 278: (4, 48),
        279: (4, samples.nbytes),
        284: (3, 1), 33421: (3, (2, 2)), 33422: (1, bytes([0, 1, 1, 2])), 50706: (1, bytes([1, 4, 0, 0])),
        50708: (2, "Maker Model"), 50714: (4, 0), 50717: (4, 65535),
        50721: (10, (3.24, -1.54, -0.5, -0.97, 1.88, 0.04, 0.06, -0.2, 1.06)), 50728: (5, (1.0, 1.0, 1.0)),
        50778: (3, 21),
    }  # fmt: skip
    folder = TiffImagePlugin.ImageFileDirectory_v2(b"II*\0\0\0\0\0")
    for tag, (kind, value) in tags.items():
        folder.tagtype[tag] = kind
        folder[tag] = value
    buffer = io.BytesIO()
    folder.save(buffer)
    return buffer.getvalue() + samples.tobytes()
