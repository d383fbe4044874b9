"""Colour: ICC profiles, grey, CMYK and palettes."""

import io
from dataclasses import replace

import numpy as np
import pytest
from photo_files import halved, noise, saved, smooth
from PIL import Image, ImageCms
from profiles import ADOBE_RGB, DISPLAY_P3, GREY_GAMMA, PROPHOTO

from deshadow.photo import encode_photo, read_photo
from deshadow.photo.deep import encode_deep_png
from deshadow.photo.profile import PLAIN, open_profile


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
