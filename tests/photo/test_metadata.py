"""EXIF, XMP, IPTC, text and resolution survive; orientation is applied and reset."""

import io
import struct
from typing import Any

import numpy as np
import pytest
from photo_files import noise, saved, smooth
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo
from profiles import DISPLAY_P3

from deshadow.photo import encode_photo, read_photo, to_pil
from deshadow.photo.deep import encode_deep_png
from deshadow.photo.exif import reset_orientation


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_orientation_is_applied_and_then_reset(kind: str, orientation: int) -> None:
    image = Image.fromarray(smooth())
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = orientation, "Maker"
    options: dict[str, Any] = {"exif": exif}
    if kind == "WEBP":
        options["lossless"] = True
    data = saved(image, kind, **options)
    with Image.open(io.BytesIO(data)) as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    photo = read_photo(data)
    assert (photo.height, photo.width) == expected.shape[:2]
    assert np.array_equal(photo.codes, expected)
    with Image.open(io.BytesIO(encode_photo(photo))) as written:
        assert written.size == (photo.width, photo.height)
        assert written.getexif().get(0x0112, 1) == 1
        assert written.getexif()[0x010F] == "Maker"


def test_exif_keeps_its_bytes_but_for_orientation_sides_and_thumbnail() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8769).update({0x927C: b"maker's own bytes", 0xA002: 56, 0xA003: 40})
    data = saved(Image.fromarray(smooth()), "JPEG", exif=exif)
    photo = read_photo(data)
    with Image.open(io.BytesIO(data)) as image:
        before = image.info["exif"]
    differing = sum(a != b for a, b in zip(before, photo.metadata.exif, strict=True))
    assert 0 < differing <= 5
    with Image.open(io.BytesIO(encode_photo(photo))) as written:
        inner = written.getexif().get_ifd(0x8769)
        assert inner[0x927C] == b"maker's own bytes"
        assert (inner[0xA002], inner[0xA003]) == written.size


def test_the_orientation_is_reset_in_a_block_that_ends_after_its_entries() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    block = exif.tobytes()
    assert block.endswith(bytes(4))  # the offset of a next directory, which some programs leave out
    whole, cut = (reset_orientation(each, sideways=True) for each in (block, block[:-4]))
    assert cut == whole[:-4] != block[:-4]
    exif.load(whole)
    assert exif[0x0112] == 1


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_profile_xmp_and_resolution_survive(kind: str) -> None:
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><a tiff:Orientation="1">a title</a></x:xmpmeta>'
    source = read_photo(
        saved(Image.fromarray(smooth()), "JPEG", icc_profile=DISPLAY_P3, xmp=xmp, dpi=(300, 300))
    )
    again = read_photo(encode_photo(source, kind))
    assert again.metadata.icc == DISPLAY_P3
    assert again.metadata.xmp == xmp
    third = read_photo(encode_photo(again))
    assert third.metadata.xmp == xmp
    if kind in ("JPEG", "PNG", "TIFF"):
        assert third.metadata.dpi == pytest.approx((300, 300), abs=0.1)


def test_iptc_of_a_jpeg_and_text_of_a_png_survive() -> None:
    segment = b"Photoshop 3.0\0caption of an agency"
    extra = struct.pack(">BBH", 255, 0xED, 2 + len(segment)) + segment
    photo = read_photo(saved(Image.fromarray(smooth()), "JPEG", extra=extra))
    assert segment in encode_photo(photo)
    text = PngInfo()
    text.add_text("Title", "a bridge")
    with Image.open(
        io.BytesIO(encode_photo(read_photo(saved(Image.fromarray(smooth()), "PNG", pnginfo=text))))
    ) as image:
        assert image.info["Title"] == "a bridge"


def test_pil_gets_the_picture_with_its_metadata() -> None:
    photo = read_photo(saved(Image.fromarray(smooth()), "PNG", icc_profile=DISPLAY_P3))
    image = to_pil(photo)
    assert np.array_equal(np.asarray(image), smooth())
    assert image.info["icc_profile"] == DISPLAY_P3
    assert to_pil(read_photo(encode_deep_png(noise(4, 5, 3, dtype=np.uint16)))).mode == "RGB"
