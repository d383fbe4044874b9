"""Photos of every kind: composed without harm outside the mask, and written as they were."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from photo_files import GREY_ALPHA, deep_tiff, halved, noise, saved, smooth
from PIL import Image, JpegImagePlugin, UnidentifiedImageError
from profiles import DISPLAY_P3
from tifffile import TiffFile

from deshadow.photo import Photo, encode_photo, read_photo
from deshadow.photo.deep import encode_deep_png
from deshadow.photo.photo import Metadata


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


def test_extreme_shapes(tmp_path: Path) -> None:
    for width, height in ((1, 1), (40_000, 10), (1, 3000)):
        codes = noise(height, width, 3)
        path = tmp_path / "photo.png"
        Image.fromarray(codes).save(path)
        changed, outside = halved(read_photo(path))
        assert np.array_equal(read_photo(encode_photo(changed)).codes[outside], codes[outside])
    with pytest.raises(ValueError, match="cannot be written as WEBP"):
        encode_photo(read_photo(saved(Image.fromarray(noise(10, 40_000, 3)), "PNG")), "WEBP")


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


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_tiff_in_which_white_is_zero_is_read_as_it_is_shown(dtype: type) -> None:
    codes = noise(9, 14, dtype=dtype)
    photo = read_photo(deep_tiff(np.iinfo(dtype).max - codes, photometric="miniswhite"))
    assert np.array_equal(photo.codes[..., 0], codes)
    assert np.array_equal(read_photo(encode_photo(photo)).codes, photo.codes)


def test_a_tiff_without_a_resolution_gets_none() -> None:
    plain = Image.fromarray(noise(9, 14, 3))
    without, given = saved(plain, "TIFF"), saved(plain, "TIFF", dpi=(300, 300))
    assert read_photo(without).metadata.dpi is None
    with TiffFile(io.BytesIO(encode_photo(read_photo(without)))) as written:
        assert "XResolution" not in written.pages.first.tags
    assert read_photo(encode_photo(read_photo(given))).metadata.dpi == (300, 300)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_channel_without_a_meaning_is_left_out_with_a_sentence(dtype: type) -> None:
    photo = read_photo(deep_tiff(noise(9, 14, 4, dtype=dtype), extrasamples=["unspecified"]))
    assert not read_photo(deep_tiff(noise(9, 14, 4, dtype=dtype), extrasamples=["unassalpha"])).notes
    assert photo.codes.shape == (9, 14, 3)
    assert photo.alpha is None
    assert "channels beside its colours" in " ".join(photo.notes)
