"""The ground of synthetic pictures: one or two surfaces, seen from near or far."""

import pytest
import torch
from torch import Tensor

from deshadow.data.rng import Draws
from deshadow.data.synth.grounds import Ground, cut_frame, lay_grounds

COUNT = 200


@pytest.fixture
def stripes() -> Tensor:
    """(2, 3, 32, 32): dark and bright backgrounds, each with stripes of 8 pixels and 10 levels."""
    bright = (torch.arange(32) // 8 % 2 * 10).expand(3, 32, 32)
    return torch.stack([bright + 40, bright + 200]).to(torch.uint8)


def lay(backgrounds: Tensor, chosen: Ground, seed: int = 0) -> Tensor:
    return lay_grounds(Draws(seed, torch.arange(COUNT)), backgrounds, chosen)


def test_one_near_surface_is_a_background_as_it_is(stripes: Tensor) -> None:
    grounds = lay(stripes, Ground(distances=(1.0,), two=0.0))
    matches = (grounds[:, None] == stripes).flatten(2).all(2)
    assert matches.any(1).all()
    assert matches.any(0).all()


@pytest.mark.parametrize("times", [1, 2])
def test_a_surface_from_far_away_shows_as_many_more_stripes(stripes: Tensor, times: int) -> None:
    grounds = lay(stripes, Ground(distances=(0.0,) * times + (1.0,), two=0.0)).float()
    middle = torch.where(grounds.mean((1, 2, 3)) > 100, 205, 45)[:, None]
    changes = ((grounds[:, 0, 0] > middle).int().diff(dim=-1) != 0).sum(1).float().mean()
    assert abs(changes - 3 * 2**times) < 2**times
    assert lay(stripes, Ground(distances=(0.0,) * times + (1.0,), two=0.0), seed=1).ne(grounds).any()


def test_distances_occur_as_often_as_they_should(stripes: Tensor) -> None:
    near = lay(stripes, Ground(distances=(0.7, 0.3), two=0.0))
    same = (near[:, None] == stripes).flatten(2).all(2).any(1)
    assert 0.6 < same.float().mean() < 0.8


def test_the_second_surface_lies_on_one_side_of_a_line(stripes: Tensor) -> None:
    grounds = lay(stripes, Ground(distances=(1.0,), two=1.0)).float()[:, 0]
    both = (grounds < 80).flatten(1).any(1) & (grounds > 180).flatten(1).any(1)
    assert (
        0.3 < both.float().mean() < 0.6
    )  # the other half has the same background twice, or all of the frame
    cover = cut_frame(Draws(0, torch.arange(COUNT)), "ground", (32, 32))
    assert cover.min() == 0
    assert cover.max() == 1
    assert 0.5 < cover.mean() < 0.9
    # Along a straight line few pixels are cut.
    assert ((cover > 0) & (cover < 1)).float().mean() < 2 / 32
