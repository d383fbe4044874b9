"""Photos of every kind: read as displayed, composed without harm outside the mask, written as they were."""

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image, ImageCms, ImageOps, JpegImagePlugin, UnidentifiedImageError
from PIL.PngImagePlugin import PngInfo
from profiles import ADOBE_RGB, DISPLAY_P3, GREY_GAMMA, PROPHOTO
from tifffile import TiffFile, imwrite

from deshadow.photo import Photo, encode_photo, read_photo, to_pil
from deshadow.photo.deep import encode_deep_png
from deshadow.photo.photo import Metadata
from deshadow.photo.profile import PLAIN, open_profile

RNG = np.random.default_rng(0)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=kind, **options)
    return buffer.getvalue()


def noise(*shape: int, dtype: type = np.uint8) -> np.ndarray:
    return RNG.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def smooth(height: int = 40, width: int = 56) -> np.ndarray:
    """A picture that a lossy format can hold."""
    rows, columns = np.mgrid[:height, :width]
    planes = [90 + rows, 70 + columns, 120 + (rows + columns) // 2]
    return np.stack(planes, axis=2).astype(np.uint8)


def halved(photo: Photo) -> tuple[Photo, np.ndarray]:
    """The photo with its left half made brighter, and where its weight is 0."""
    weight = np.zeros((photo.height, photo.width), np.float32)
    weight[:, : photo.width // 2] = 1
    return photo.composite((photo.pixels * 0.5 + 0.4).astype(np.float32), weight), weight == 0


def deep_tiff(codes: np.ndarray, **options: Any) -> bytes:
    buffer = io.BytesIO()
    imwrite(buffer, codes, **{"photometric": "rgb" if codes.ndim == 3 else "minisblack", **options})
    return buffer.getvalue()


GREY_ALPHA: dict[str, Any] = {
    "photometric": "minisblack",
    "planarconfig": "contig",
    "extrasamples": ["unassalpha"],
}


def deep_grey_alpha(**options: Any) -> bytes:
    return deep_tiff(noise(9, 14, 2, dtype=np.uint16), **GREY_ALPHA, **options)


LOSSLESS: dict[str, Callable[[], bytes]] = {
    "png rgb": lambda: saved(Image.fromarray(noise(9, 14, 3)), "PNG"),
    "png rgba": lambda: saved(Image.fromarray(noise(9, 14, 4)), "PNG"),
    "png grey": lambda: saved(Image.fromarray(noise(9, 14)), "PNG"),
    "png grey alpha": lambda: saved(Image.fromarray(noise(9, 14, 2)), "PNG"),
    "png grey 16": lambda: saved(Image.fromarray(noise(9, 14, dtype=np.uint16)), "PNG"),
    "png grey alpha 16": lambda: encode_deep_png(noise(9, 14, 2, dtype=np.uint16)),
    "png rgb 16": lambda: encode_deep_png(noise(9, 14, 3, dtype=np.uint16)),
    "png rgba 16": lambda: encode_deep_png(noise(9, 14, 4, dtype=np.uint16)),
    "tiff rgb": lambda: saved(Image.fromarray(noise(9, 14, 3)), "TIFF"),
    "tiff rgba": lambda: saved(Image.fromarray(noise(9, 14, 4)), "TIFF", compression="tiff_lzw"),
    "tiff grey": lambda: saved(Image.fromarray(noise(9, 14)), "TIFF"),
    "tiff cmyk": lambda: saved(Image.fromarray(noise(9, 14, 4), mode="CMYK"), "TIFF"),
    "tiff grey 16": lambda: deep_tiff(noise(9, 14, dtype=np.uint16)),
    "tiff grey 16 big-endian": lambda: deep_tiff(noise(9, 14, dtype=np.uint16), byteorder=">"),
    "tiff grey alpha 16": lambda: deep_grey_alpha(),
    "tiff grey alpha 16 big-endian": lambda: deep_grey_alpha(byteorder=">"),
    "tiff grey alpha 16 deflated": lambda: deep_grey_alpha(compression="zlib", predictor=True),
    "tiff grey alpha 16 deflated big-endian": lambda: deep_grey_alpha(compression="zlib", byteorder=">"),
    "tiff rgb 16": lambda: deep_tiff(noise(9, 14, 3, dtype=np.uint16)),
    "tiff rgb 16 big-endian": lambda: deep_tiff(noise(9, 14, 3, dtype=np.uint16), byteorder=">"),
    "tiff rgb 16 deflated": lambda: deep_tiff(noise(9, 14, 3, dtype=np.uint16), compression="zlib"),
    "tiff rgba 16": lambda: deep_tiff(noise(9, 14, 4, dtype=np.uint16), extrasamples=["unassalpha"]),
    "webp lossless": lambda: saved(Image.fromarray(noise(9, 14, 4)), "WEBP", lossless=True, exact=True),
    "bmp": lambda: saved(Image.fromarray(noise(9, 14, 3)), "BMP"),
    "bmp grey": lambda: saved(Image.fromarray(noise(9, 14)), "BMP"),
}


@pytest.mark.parametrize("kind", LOSSLESS)
def test_outside_the_mask_a_lossless_file_keeps_every_bit_and_its_kind(kind: str) -> None:
    photo = read_photo(LOSSLESS[kind]())
    assert ("16" in kind) == (photo.codes.dtype == np.uint16)
    changed, outside = halved(photo)
    again = read_photo(encode_photo(changed))
    assert again.format == photo.format
    assert again.codes.dtype == photo.codes.dtype
    assert np.array_equal(again.codes, changed.codes)
    assert np.array_equal(again.codes[outside], photo.codes[outside])
    assert not np.array_equal(again.codes, photo.codes)
    assert (again.alpha is None) == (photo.alpha is None)
    if photo.alpha is not None and again.alpha is not None:
        assert np.array_equal(again.alpha, photo.alpha)


def test_16_bit_files_are_read_as_other_libraries_wrote_them() -> None:
    codes = noise(11, 7, 3, dtype=np.uint16)
    for options in ({}, {"byteorder": ">"}, {"compression": "zlib"}, {"rowsperstrip": 2}):
        assert np.array_equal(read_photo(deep_tiff(codes, **options)).codes, codes)


@pytest.mark.parametrize("options", [{}, {"byteorder": ">"}, {"compression": "zlib"}, {"tile": (16, 16)}])
def test_16_bit_grey_with_alpha_is_read_and_written_as_other_libraries_do(options: dict[str, Any]) -> None:
    codes = noise(21, 37, 2, dtype=np.uint16)
    photo = read_photo(deep_tiff(codes, **GREY_ALPHA, **options))
    assert photo.alpha is not None
    assert np.array_equal(photo.codes[..., 0], codes[..., 0])
    assert np.array_equal(photo.alpha, codes[..., 1])
    with TiffFile(io.BytesIO(encode_photo(photo))) as file:
        assert np.array_equal(file.asarray(), codes)
    with pytest.raises(UnidentifiedImageError):  # Pillow itself is as it was
        Image.open(io.BytesIO(encode_photo(photo)))


def test_the_first_page_of_16_bit_grey_with_alpha_is_taken() -> None:
    pages = noise(3, 9, 14, 2, dtype=np.uint16)
    photo = read_photo(deep_tiff(pages, **GREY_ALPHA))
    assert np.array_equal(photo.codes[..., 0], pages[0, ..., 0])
    assert "3 frames" in photo.notes[0]


def test_16_bit_tiff_is_written_as_other_libraries_read_it() -> None:
    codes = noise(11, 7, 3, dtype=np.uint16)
    written = encode_photo(read_photo(deep_tiff(codes)))
    with TiffFile(io.BytesIO(written)) as file:
        assert getattr(file.pages[0], "photometric", None) == 2
        assert np.array_equal(file.asarray(), codes)


@given(
    arrays.arrays(np.uint16, st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 2, 3, 4])))
)
@settings(max_examples=40, deadline=None)
def test_16_bit_png_holds_any_values(codes: np.ndarray) -> None:
    photo = read_photo(encode_deep_png(codes))
    found = photo.codes if photo.alpha is None else np.dstack([photo.codes, photo.alpha])
    assert np.array_equal(found, codes)


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


@pytest.mark.parametrize("profile", [DISPLAY_P3, ADOBE_RGB, PROPHOTO])
def test_networks_see_what_littlecms_makes_of_the_profile(profile: bytes) -> None:
    codes = noise(30, 30, 3) // 2 + 60  # away from the borders of the gamut, where the two clip differently
    photo = read_photo(saved(Image.fromarray(codes), "PNG", icc_profile=profile))
    own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    expected = ImageCms.profileToProfile(
        Image.fromarray(codes),
        own,
        ImageCms.createProfile("sRGB"),
        renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
    )
    inside = ((np.asarray(expected) > 2) & (np.asarray(expected) < 253)).all(axis=2)
    difference = np.abs(photo.pixels * 255 - np.asarray(expected))[inside]
    assert inside.mean() > 0.3
    assert difference.max() < 1.6


@pytest.mark.parametrize("profile", [DISPLAY_P3, ADOBE_RGB, PROPHOTO, b""])
@pytest.mark.parametrize("deep", [False, True])
def test_a_result_comes_back_in_the_photos_own_profile(profile: bytes, deep: bool) -> None:
    codes = (smooth().astype(np.uint16) * 257) if deep else smooth()
    bare = encode_deep_png(codes) if deep else saved(Image.fromarray(codes), "PNG")
    source = read_photo(bare)
    photo = replace(source, metadata=replace(source.metadata, icc=profile))
    everywhere = np.ones((photo.height, photo.width), np.float32)
    wanted = photo.pixels * 0.8 + 0.1
    again = read_photo(encode_photo(photo.composite(wanted, everywhere)))
    within = ((photo.pixels > 0) & (photo.pixels < 1)).all(axis=2)  # colours beyond sRGB stay beyond it
    assert within.mean() > 0.5
    assert np.abs(again.pixels - wanted)[within].max() < (3e-4 if deep else 0.015)


@pytest.mark.parametrize("profile", [DISPLAY_P3, ADOBE_RGB, PROPHOTO, b""])
def test_a_result_that_changes_nothing_changes_no_code_value(profile: bytes) -> None:
    photo = read_photo(saved(Image.fromarray(noise(40, 40, 3)), "PNG", icc_profile=profile))
    everywhere = np.ones((40, 40), np.float32)
    assert np.array_equal(photo.composite(photo.pixels, everywhere).codes, photo.codes)


def test_grey_with_a_profile_of_its_own_stays_grey() -> None:
    photo = read_photo(saved(Image.fromarray(noise(20, 20)), "PNG", icc_profile=GREY_GAMMA))
    changed, outside = halved(photo)
    again = read_photo(encode_photo(changed))
    assert again.codes.shape == (20, 20, 1)
    assert again.metadata.icc == GREY_GAMMA
    assert np.array_equal(again.codes[outside], photo.codes[outside])
    assert np.abs(again.pixels - changed.pixels).max() == 0


def test_a_damaged_profile_is_kept_but_taken_for_srgb() -> None:
    codes = noise(5, 5, 3)
    photo = read_photo(saved(Image.fromarray(codes), "PNG", icc_profile=DISPLAY_P3[:150]))
    assert np.allclose(photo.pixels, codes / 255)
    assert open_profile(b"nonsense", 3) is PLAIN


def test_cmyk_is_seen_in_colour_and_written_as_cmyk() -> None:
    inks = np.zeros((16, 16, 4), np.uint8)
    inks[..., 0], inks[..., 3] = 255, 51  # cyan, a fifth of black
    data = saved(Image.fromarray(inks, mode="CMYK"), "TIFF")
    photo = read_photo(data)
    assert np.allclose(photo.pixels[0, 0], [0, 0.8, 0.8], atol=0.01)
    white = np.ones_like(photo.pixels)
    weight = np.zeros((16, 16), np.float32)
    weight[:8] = 1
    again = read_photo(encode_photo(photo.composite(white, weight)))
    assert np.array_equal(again.codes[8:], inks[8:])
    assert (again.codes[:8] == 0).all()  # no ink
    with Image.open(io.BytesIO(encode_photo(photo, "JPEG"))) as image:
        assert image.mode == "CMYK"
    assert read_photo(encode_photo(photo, "PNG")).codes.shape == (16, 16, 3)


def test_a_palette_becomes_the_colours_that_it_names() -> None:
    image = Image.fromarray(smooth()).quantize(16)
    expected = np.asarray(image.convert("RGB"))
    photo = read_photo(saved(image, "PNG"))
    changed, outside = halved(photo)
    assert np.array_equal(read_photo(encode_photo(changed)).codes[outside], expected[outside])
    image.info["transparency"] = 3
    clear = read_photo(saved(image, "PNG", transparency=3))
    assert clear.alpha is not None
    assert np.array_equal(clear.alpha == 0, np.asarray(image) == 3)


def test_a_jpeg_keeps_its_tables_and_subsampling_and_changes_little() -> None:
    image = Image.fromarray(smooth(64, 64))
    for quality, subsampling, progressive in ((60, 2, False), (85, 1, True), (93, 0, False)):
        data = saved(image, "JPEG", quality=quality, subsampling=subsampling, progressive=progressive)
        photo = read_photo(data)
        changed, outside = halved(photo)
        written = encode_photo(changed)
        with Image.open(io.BytesIO(data)) as before, Image.open(io.BytesIO(written)) as after:
            assert isinstance(before, JpegImagePlugin.JpegImageFile)
            assert isinstance(after, JpegImagePlugin.JpegImageFile)
            assert before.quantization == after.quantization
            assert JpegImagePlugin.get_sampling(before) == JpegImagePlugin.get_sampling(after)
            assert bool(after.info.get("progressive")) == progressive
        far = outside.copy()
        far[:, : 32 + 16] = False  # blocks that the mask cuts do change
        difference = np.abs(read_photo(written).codes[far].astype(int) - photo.codes[far])
        assert difference.max() <= 2
        with Image.open(io.BytesIO(encode_photo(changed, quality=30))) as worse:
            assert isinstance(worse, JpegImagePlugin.JpegImageFile)
            assert worse.quantization[0][63] > 100


def test_the_first_frame_of_an_animation_is_taken_and_said(tmp_path: Path) -> None:
    frames = [Image.fromarray(noise(8, 9, 3)) for _ in range(3)]
    for kind, options in (("PNG", {}), ("TIFF", {}), ("WEBP", {"lossless": True}), ("AVIF", {})):
        photo = read_photo(saved(frames[0], kind, save_all=True, append_images=frames[1:], **options))
        assert photo.notes == ("it has 3 frames or pages; only the first was used",)
        if kind != "AVIF":
            assert np.array_equal(photo.codes, np.asarray(frames[0]))
        assert read_photo(encode_photo(photo)).notes == ()


def test_what_a_format_cannot_hold_is_made_what_it_can() -> None:
    photo = read_photo(encode_deep_png(noise(9, 14, 4, dtype=np.uint16)))
    for kind in ("JPEG", "WEBP", "BMP", "AVIF"):
        again = read_photo(encode_photo(photo, kind))
        assert again.format == kind
        assert again.codes.dtype == np.uint8
    clear = saved(Image.new("RGBA", (8, 8), (10, 20, 30, 0)), "PNG")
    assert (read_photo(encode_photo(read_photo(clear), "JPEG")).codes > 250).all()
    grey = read_photo(saved(Image.fromarray(noise(9, 14)), "PNG"))
    assert read_photo(encode_photo(grey, "WEBP", 100)).codes.shape == (9, 14, 3)
    assert read_photo(encode_photo(grey, "JPEG")).codes.shape == (9, 14, 1)


def test_pil_gets_the_picture_with_its_metadata() -> None:
    photo = read_photo(saved(Image.fromarray(smooth()), "PNG", icc_profile=DISPLAY_P3))
    image = to_pil(photo)
    assert np.array_equal(np.asarray(image), smooth())
    assert image.info["icc_profile"] == DISPLAY_P3
    assert to_pil(read_photo(encode_deep_png(noise(4, 5, 3, dtype=np.uint16)))).mode == "RGB"


def test_extreme_shapes(tmp_path: Path) -> None:
    for width, height in ((1, 1), (40_000, 10), (1, 3000)):
        codes = noise(height, width, 3)
        path = tmp_path / "photo.png"
        Image.fromarray(codes).save(path)
        changed, outside = halved(read_photo(path))
        assert np.array_equal(read_photo(encode_photo(changed)).codes[outside], codes[outside])
    with pytest.raises(ValueError, match="cannot be written as WEBP"):
        encode_photo(read_photo(saved(Image.fromarray(noise(10, 40_000, 3)), "PNG")), "WEBP")


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
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "pip install 'deshadow\\[heif\\]'|damaged|is not a photo"),
        (b"FUJIFILMCCD-RAW 0201", "pip install 'deshadow\\[raw\\]'|cannot be developed"),
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


@given(
    height=st.integers(1, 24),
    width=st.integers(1, 24),
    channels=st.sampled_from([1, 2, 3, 4]),
    deep=st.booleans(),
    kind=st.sampled_from(["PNG", "TIFF"]),
    profile=st.sampled_from([b"", DISPLAY_P3]),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_any_size_mode_and_depth_is_bit_exact_outside(
    height: int, width: int, channels: int, deep: bool, kind: str, profile: bytes, seed: int
) -> None:
    assume(not (kind == "TIFF" and deep and channels == 2))  # which Pillow does not open
    rng = np.random.default_rng(seed)
    dtype = np.uint16 if deep else np.uint8
    values = rng.integers(0, np.iinfo(dtype).max, (height, width, channels), dtype=dtype, endpoint=True)
    alpha = values[..., -1] if channels in (2, 4) else None
    photo = Photo(values[..., : 1 if channels < 3 else 3], alpha, kind, Metadata(icc=profile))
    photo = read_photo(encode_photo(photo))
    assert photo.metadata.icc == profile
    weight = (rng.random((height, width)) * (rng.random((height, width)) > 0.5)).astype(np.float32)
    result = rng.random((height, width, 3)).astype(np.float32)
    again = read_photo(encode_photo(photo.composite(result, weight)))
    assert again.codes.shape == photo.codes.shape
    assert again.codes.dtype == dtype
    assert np.array_equal(again.codes[weight == 0], photo.codes[weight == 0])
    assert (again.alpha is None) == (alpha is None)
    if alpha is not None and again.alpha is not None:
        assert np.array_equal(again.alpha, alpha)
