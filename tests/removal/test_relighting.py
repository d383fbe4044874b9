import tracemalloc

import numpy as np
import pytest
from oracles import blob, darkened, detailed, unit

from deshadow.image.colour import linear_to_srgb, srgb_to_lab, srgb_to_linear
from deshadow.image.filters import fit_within, gaussian_blur
from deshadow.metrics.scores import gradient_energy, lab_difference
from deshadow.photo.photo import Photo
from deshadow.removal.relighting import Relighting, apply_strength, downscale

LEFT = (0.2, 0.24, 0.32)


def carried(
    height: int, width: int, soft: float, small: int = 256, haze: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Result, truth and shade: the truth, reduced and perhaps blurred, carried to full size."""
    truth, shade = detailed(height, width), blob(height, width, soft)
    photo = unit(darkened(truth, shade, LEFT))
    weight = (shade > 0.003).astype(np.float32)
    size = fit_within((height, width), small)
    before, after, seen = (downscale(f, *size) for f in (photo, unit(truth), weight))
    if haze:
        after = gaussian_blur(after, haze)
    result = np.asarray(Relighting.fit(before, after, seen, photo).apply(photo, weight))
    return (result * 255).round().astype(np.uint8), truth, shade


@pytest.mark.parametrize("haze", [0.0, 1.5])
def test_detail_survives_even_when_the_network_blurs(haze: float) -> None:
    result, truth, shade = carried(768, 1024, 6.0, haze=haze)
    inside = shade > 0.5
    energy = gradient_energy(srgb_to_lab(result)[..., 0], srgb_to_lab(truth)[..., 0], inside)
    assert 0.85 < energy.result / energy.truth < 1.15
    assert lab_difference(result, truth, inside) < 4


def test_detail_comes_back_at_night_too() -> None:
    truth = (detailed(256, 256) * 0.12).astype(np.uint8)  # as dark as a sky between its stars
    shade = blob(256, 256, 4.0)
    photo, weight = unit(darkened(truth, shade, LEFT)), (shade > 0.003).astype(np.float32)
    result = np.asarray(Relighting.fit(photo, unit(truth), weight, photo).apply(photo, weight))
    light, true_light = (
        srgb_to_lab(each)[..., 0] for each in ((result * 255).round().astype(np.uint8), truth)
    )
    energy = gradient_energy(light, true_light, shade > 0.5)
    assert 0.85 < energy.result / energy.truth < 1.15


@pytest.mark.parametrize("soft", [1.0, 4.0, 16.0])
def test_no_halo_at_the_edge_of_a_shadow(soft: float) -> None:
    result, truth, _ = carried(768, 1024, soft)
    # Texture averages out along the edge; a halo, which runs along it, does not.
    light, true_light = (srgb_to_lab(picture)[..., 0] for picture in (result, truth))
    rows, columns = np.mgrid[:768, :1024]
    rings = (np.hypot(rows - 384, columns - 512) - 0.3 * 768).round().astype(int)
    for distance in range(-24, 25, 2):
        ring = np.abs(rings - distance) <= 1
        assert abs(light[ring].mean() - true_light[ring].mean()) < 5, distance


def test_no_line_is_left_along_a_hard_edge_of_a_photo_that_the_network_sees_whole() -> None:
    result, truth, _ = carried(192, 256, 0.5)
    rows, columns = np.mgrid[:192, :256]
    edge = np.abs(np.hypot(rows - 96, columns - 128) - 0.3 * 192) < 3
    assert lab_difference(result, truth, edge) < 0.5


def test_texture_survives_in_a_wide_penumbra() -> None:
    result, truth, shade = carried(768, 1024, 16.0, small=128)  # two pixels of the small picture
    penumbra = (shade > 0.1) & (shade < 0.9)
    energy = gradient_energy(srgb_to_lab(result)[..., 0], srgb_to_lab(truth)[..., 0], penumbra)
    assert 0.9 < energy.result / energy.truth < 1.1


def test_contrast_that_the_network_makes_up_is_left_out() -> None:
    truth, shade = detailed(256, 256), blob(256, 256, 4.0)
    photo, weight = unit(darkened(truth, shade, LEFT)), (shade > 0.003).astype(np.float32)
    clean = unit(truth)
    exaggerated = (clean + 0.3 * (clean - gaussian_blur(clean, 3.0))).clip(0, 1)
    result = np.asarray(Relighting.fit(photo, exaggerated, weight, photo).apply(photo, weight))
    energies = [
        gradient_energy(
            srgb_to_lab((each * 255).round().astype(np.uint8))[..., 0],
            srgb_to_lab(truth)[..., 0],
            shade > 0.5,
        )
        for each in (exaggerated, result)
    ]
    made_up, kept = (energy.result / energy.truth for energy in energies)
    assert made_up > 1.3
    assert kept < 1.15


def test_nothing_beyond_the_weight_changes() -> None:
    photo = unit(detailed(60, 90))
    weight = np.zeros((60, 90), np.float32)
    weight[20:40, 30:60] = 1
    found = Relighting.fit(photo, (photo * 1.5).clip(0, 1), weight, photo)
    result = np.asarray(found.apply(photo, weight))
    assert (result[weight == 0] == photo[weight == 0]).all()
    assert (result[weight > 0] > photo[weight > 0]).mean() > 0.9


def test_strength_is_the_share_of_the_light() -> None:
    photo = np.full((40, 40, 3), 0.3, np.float32)
    weight = np.ones((40, 40), np.float32)
    found = Relighting.fit(photo, photo + 0.3, weight, photo)
    whole = np.asarray(found.apply(photo, weight))
    none, half = (np.asarray(apply_strength(photo, whole, strength)) for strength in (0.0, 0.5))
    assert (none == photo).all()
    middle = (srgb_to_linear(photo) + srgb_to_linear(whole)) / 2
    np.testing.assert_allclose(srgb_to_linear(half), middle, atol=1e-5)


def test_black_stays_finite() -> None:
    photo = np.zeros((30, 30, 3), np.float32)
    weight = np.ones((30, 30), np.float32)
    result = np.asarray(Relighting.fit(photo, photo + 0.5, weight, photo).apply(photo, weight))
    np.testing.assert_allclose(result, 0.5, atol=0.02)  # the lift gives what a gain cannot


def test_light_that_is_added_does_not_fill_dark_gaps() -> None:
    surface, gap = 0.4, 0.002
    light = np.full((80, 80, 3), surface, np.float32)
    light[::8] = gap  # one row for each pixel of the small picture
    none, lit = np.zeros((10, 10, 3), np.float32), np.full((10, 10), 7 / 8 * surface, np.float32)
    found = Relighting(none, none, none[..., 0], none[..., 0] + 1, none + np.float32(0.05), lit)
    result = srgb_to_linear(np.asarray(found.apply(linear_to_srgb(light), np.ones((80, 80), np.float32))))
    np.testing.assert_allclose(result[1::8], surface + 0.05, atol=1e-3)
    np.testing.assert_allclose(result[::8], gap, atol=1e-3)


def test_a_large_photo_is_relit_without_copies_of_it_in_floats() -> None:
    rng = np.random.default_rng(0)
    photo = Photo((rng.random((2000, 3000, 3), np.float32) * 255).astype(np.uint8), None, "PNG")
    fields = rng.random((64, 96, 3), np.float32) * np.float32(0.1)
    edge = fields[..., 0], fields[..., 0] + 1
    weight = np.ones((2000, 3000), np.float32)
    tracemalloc.start()
    try:
        result = photo.composite(
            Relighting(fields, fields, *edge, fields, fields[..., 0]).apply(photo.picture, weight), weight
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (result.codes != photo.codes).mean() > 0.5
    assert peak < photo.codes.nbytes + 48 * 2**20  # the picture in floats alone would take 69 MiB
