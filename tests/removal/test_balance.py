"""The colour of a removed shadow is set by what lies beyond its edge, where that says one thing."""

import numpy as np

from deshadow.image.colour import linear_to_srgb
from deshadow.image.strips import Field
from deshadow.removal.balance import balance_colour
from deshadow.removal.relighting import Relighting

SIZE = 192
PINK = np.array([0.08, -0.12, 0.04], np.float32)
"""Logarithm of a cast: as bright as before, but less green."""


def ground(colour: Field) -> Field:
    """(h, w, 3): linear light of a rough surface."""
    rough = np.random.default_rng(0).uniform(0.7, 1.3, (SIZE, SIZE, 1))
    light: Field = (colour * rough).astype(np.float32)
    return light


def relit(light: Field, inside: Field) -> tuple[Relighting, Field]:
    """What leads from a shadow that left a quarter of the light back to the ground, but with a cast."""
    level = inside[..., None] * (np.log(4) + PINK)
    zero = np.zeros_like(level)
    plain = Relighting(level.astype(np.float32), zero, zero[..., 0], zero[..., 0] + 1, zero, zero[..., 0])
    return plain, linear_to_srgb(light * (1 - 0.75 * inside[..., None]))


def disc() -> Field:
    rows, columns = np.ogrid[:SIZE, :SIZE]
    inside: Field = (((rows - 96) ** 2 + (columns - 80) ** 2) < 50**2).astype(np.float32)
    return inside


def left(relighting: Relighting, inside: Field) -> float:
    """How much of the cast is still there, 1 being all."""
    level = relighting.level[inside > 0].mean(axis=0)
    colour = level - level.mean()
    return float((colour @ PINK) / (PINK @ PINK))


def test_a_cast_goes_where_the_ground_goes_on() -> None:
    inside = disc()
    relighting, shadow = relit(ground(np.array([0.4, 0.35, 0.3], np.float32)), inside)
    result = balance_colour(relighting, shadow, inside, None)
    assert left(result, inside) < 0.2
    assert np.array_equal(result.level[inside == 0], relighting.level[inside == 0])
    # How bright it is stays the network's.
    np.testing.assert_allclose(result.level.mean(axis=2), relighting.level.mean(axis=2), atol=1e-3)


def test_an_edge_that_disagrees_with_itself_says_little() -> None:
    inside = disc()
    stripes = np.where(np.arange(SIZE) // 24 % 2, 1, -1)[None, :, None]
    around = np.exp(0.5 * stripes * np.array([1, 0, -1]) * (1 - inside[..., None]))
    relighting, shadow = relit(ground((0.3 * around).astype(np.float32)), inside)
    assert left(balance_colour(relighting, shadow, inside, None), inside) > 0.8


def test_what_stays_in_the_shadow_is_no_measure() -> None:
    inside = disc()
    blue = np.where(inside[..., None] > 0, [0.4, 0.35, 0.3], [0.1, 0.12, 0.4]).astype(np.float32)
    relighting, shadow = relit(ground(blue), inside)
    result = balance_colour(relighting, shadow, inside, np.ones((SIZE, SIZE), bool))
    assert np.array_equal(result.level, relighting.level)


def test_without_an_edge_nothing_is_known() -> None:
    everywhere = np.ones((SIZE, SIZE), np.float32)
    relighting, shadow = relit(ground(np.array([0.4, 0.35, 0.3], np.float32)), everywhere)
    for mask in (everywhere, 1 - everywhere):
        assert np.array_equal(balance_colour(relighting, shadow, mask, None).level, relighting.level)
