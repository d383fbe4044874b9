"""Files that are no photos, or damaged ones: each is refused in one sentence."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from photo_files import deep_tiff, noise, saved, smooth
from PIL import Image
from profiles import DISPLAY_P3

from deshadow.photo import read_photo
from deshadow.photo.deep import encode_deep_png


def bomb() -> bytes:
    """A PNG that says to be 60,000 × 60,000."""
    data = bytearray(saved(Image.new("L", (1, 1)), "PNG"))
    data[16:24] = struct.pack(">II", 60_000, 60_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"hello, I am a text", "is not a photo"),
        (saved(Image.fromarray(noise(64, 64, 3)), "JPEG")[:900], "damaged or incomplete"),
        (saved(Image.fromarray(noise(64, 64, 3)), "PNG")[:900], "damaged or incomplete"),
        (saved(Image.fromarray(noise(64, 64, 3)), "WEBP")[:900], "is not a photo|damaged"),
        (saved(Image.fromarray(noise(64, 64, 3)), "TIFF")[:900], "damaged or incomplete|is not a photo"),
        (encode_deep_png(noise(64, 64, 3, dtype=np.uint16))[:900], "damaged or incomplete"),
        (bomb(), "million pixels"),
        (saved(Image.new("F", (4, 4)), "TIFF"), "save it as RGB or grey"),
        (deep_tiff(noise(3, 8, 8, dtype=np.uint16), planarconfig="separate"), "interleaved"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "pip install '.\\[heif\\]'|damaged|is not a photo"),
        (b"FUJIFILMCCD-RAW 0201", "pip install '.\\[raw\\]'|cannot be developed"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "photo.xyz"
    path.write_bytes(data)
    for source in (path, data):
        with pytest.raises(ValueError, match=message) as caught:
            read_photo(source)
        assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")  # which Pillow gives besides
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_the_bytes_it_is_a_photo_or_one_sentence(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["JPEG", "PNG", "WEBP", "TIFF", "AVIF", "BMP"]))
    options = {} if kind == "BMP" else {"icc_profile": DISPLAY_P3}
    whole = bytearray(saved(Image.fromarray(smooth(8, 12)), kind, **options))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    said = ""
    try:
        read_photo(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    except ValueError as error:
        said = str(error)
    assert "\n" not in said


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="file not found"):
        read_photo(tmp_path / "no.jpg")
    with pytest.raises(ValueError, match="is a folder"):
        read_photo(tmp_path)
