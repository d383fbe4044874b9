"""The hard edges of a shadow are found to a fraction of a small pixel, and leave no line in a large photo."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import blob, darkened, detailed, unit

from deshadow.image.colour import srgb_to_lab, srgb_to_linear
from deshadow.image.filters import gaussian_blur
from deshadow.metrics.scores import gradient_energy, lab_difference
from deshadow.removal.edges import Edges, find_edges, place_edges
from deshadow.removal.relighting import Relighting, downscale

SMALL, TIMES = 64, 8
"""Side of the small picture, and how many times larger the photo is."""
LEFT = (0.2, 0.24, 0.32)
Floats = NDArray[np.float32]
Pixels = NDArray[np.uint8]


def divided_photo(border: float, penumbra: float = 0.0) -> tuple[Floats, Floats]:
    """A photo in shadow to the right of the border, and the same without shadow; lengths in small pixels."""
    side = SMALL * TIMES
    places = (np.arange(side, dtype=np.float32) + 0.5) / TIMES - border
    shade = (places / max(penumbra, 1 / TIMES) + 0.5).clip(0, 1)
    truth = (140 + 0.4 * (detailed(side, side).astype(np.float32) - 110)).clip(0, 255).astype(np.uint8)
    return unit(darkened(truth, np.broadcast_to(shade, (side, side)), LEFT)), unit(truth)


def find(photo: Floats, truth: Floats) -> Edges:
    """The edges as the network shows them, which blurs a little."""
    small = [downscale(each, SMALL, SMALL) for each in (photo, truth)]
    before, after = srgb_to_linear(small[0]), srgb_to_linear(gaussian_blur(small[1], 0.7))
    return find_edges(before, after, np.ones((SMALL, SMALL), np.float32))


def borders(edges: Edges) -> Floats:
    """Where the distance is 0 in each row, in small pixels."""
    near = slice(SMALL // 2 - 3, SMALL // 2 + 4)
    places = np.arange(SMALL)[near] + 0.5
    return np.array([np.interp(0, row, places) for row in edges.distance[:, near]], np.float32)


def middle(edges: Edges) -> Floats:
    """The share of an edge around the middle column."""
    return edges.share[:, SMALL // 2 - 1 : SMALL // 2 + 2]


@pytest.mark.parametrize("border", [32.0, 32.25, 32.5, 32.75])
def test_a_hard_edge_is_found_to_a_fraction_of_a_small_pixel(border: float) -> None:
    photo, truth = divided_photo(border)
    edges = find(photo, truth)
    assert middle(edges).min() > 0.9
    assert (edges.share[:, :24] == 0).all()
    assert (edges.share[:, 40:] == 0).all()
    assert np.abs(borders(edges) - border).mean() < 0.1
    placed = place_edges(edges, downscale(photo, 2 * SMALL, 2 * SMALL))
    assert np.abs(borders(placed) - border).mean() < 0.1
    np.testing.assert_allclose(edges.inner[:, 32].mean(axis=0), -np.log(LEFT), atol=0.1)
    np.testing.assert_allclose(edges.outer[:, 32].mean(axis=0), 0, atol=0.1)


@pytest.mark.parametrize("wrong", [-0.5, 0.5])
def test_the_photo_corrects_the_place_of_an_edge(wrong: float) -> None:
    photo, truth = divided_photo(32.0)
    edges = find(photo, truth)
    moved = replace(edges, distance=edges.distance + np.float32(wrong))
    placed = place_edges(moved, downscale(photo, 2 * SMALL, 2 * SMALL))
    assert np.abs(borders(moved) - 32).mean() > 0.35
    assert np.abs(borders(placed) - 32).mean() < 0.2


def test_a_wider_penumbra_has_a_wider_edge() -> None:
    widths = []
    for penumbra in (0.0, 2.0):
        photo, truth = divided_photo(32.0, penumbra)
        placed = place_edges(find(photo, truth), downscale(photo, 2 * SMALL, 2 * SMALL))
        widths.append(placed.width[middle(placed).min(axis=1) > 0.5, SMALL // 2].mean())
    assert widths[0] < 1
    assert widths[1] > 1.4


def test_a_soft_edge_is_none() -> None:
    assert (find(*divided_photo(32.0, 12.0)).share < 0.1).all()


@pytest.mark.parametrize("penumbra", [0.5, 2.0, 3.0, 4.0, 6.0])
def test_no_penumbra_is_removed_much_worse_than_without_edges(penumbra: float) -> None:
    photo, truth = divided_photo(32.0, penumbra)
    small = [downscale(each, SMALL, SMALL) for each in (photo, truth)]
    weight = np.ones(photo.shape[:2], np.float32)
    errors = []
    for sharpen in (False, True):
        seen = small[0], gaussian_blur(small[1], 0.7), downscale(weight, SMALL, SMALL)
        relighting = Relighting.fit(*seen, photo, sharpen_edges=sharpen)
        assert relighting.step.any() <= sharpen
        result = np.asarray(relighting.apply(photo, weight))
        errors.append(np.abs(result - truth)[:, 30 * TIMES : 34 * TIMES].mean())
    assert errors[1] < 1.3 * errors[0]


def test_a_surface_of_uneven_light_has_no_edges() -> None:
    truth = unit(detailed(SMALL, SMALL))
    after = srgb_to_linear(truth)
    uneven = np.random.default_rng(0).uniform(0.6, 1.6, (SMALL, SMALL, 1)).astype(np.float32)
    edges = find_edges(np.float32(0.2) * after * uneven, after, np.ones((SMALL, SMALL), np.float32))
    assert edges.share.mean() < 0.01


def carry_over(left: tuple[float, float, float]) -> tuple[Pixels, Pixels, NDArray[np.bool_]]:
    """Result and truth of a photo eight times as large, and a band in the shadow, beside its hard edge."""
    height, width = 768, 1024
    truth, shade = detailed(height, width), blob(height, width, 1.0)
    photo, weight = unit(darkened(truth, shade, left)), np.ones((height, width), np.float32)
    before, after, seen = (downscale(each, 96, 128) for each in (photo, unit(truth), weight))
    relighting = Relighting.fit(before, gaussian_blur(after, 0.7), seen, photo)
    result = (np.asarray(relighting.apply(photo, weight)) * 255).round().astype(np.uint8)
    rows, columns = np.mgrid[:height, :width]
    inward = 0.3 * height - np.hypot(rows - height / 2, columns - width / 2)
    return result, truth, (inward > 4) & (inward < 24)


def test_texture_survives_along_the_hard_edge_of_a_large_photo() -> None:
    result, truth, band = carry_over(LEFT)
    energy = gradient_energy(srgb_to_lab(result)[..., 0], srgb_to_lab(truth)[..., 0], band)
    assert 0.95 < energy.result / energy.truth < 1.05
    assert lab_difference(result, truth, band) < 2


def test_no_cast_is_left_along_the_edge_of_a_shadow_that_is_too_dark_for_a_gain() -> None:
    result, truth, band = carry_over((0.03, 0.035, 0.07))
    colours = [srgb_to_lab(each)[band].mean(axis=0) for each in (result, truth)]
    assert np.abs(colours[0] - colours[1]).max() < 3


def test_a_line_of_pixels_has_no_edges() -> None:
    light = np.full((1, 40, 3), 0.5, np.float32)
    edges = find_edges(light * np.linspace(0, 1, 40, dtype=np.float32)[:, None], light, light[..., 0])
    assert not edges.share.any()


@pytest.mark.parametrize(("left", "right"), [(0.472, 0.3), (0.9, 0.4), (0.472, 0.472)])
def test_a_result_that_is_darker_than_the_photo_has_no_edges(left: float, right: float) -> None:
    before = srgb_to_linear(unit(detailed(SMALL, SMALL)))
    darker = np.where(np.arange(SMALL) < SMALL // 2, left, right).astype(np.float32)
    edges = find_edges(before, before * darker[:, None], np.ones((SMALL, SMALL), np.float32))
    assert not edges.share.any()
