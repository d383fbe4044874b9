from dataclasses import replace

import pytest
import torch
from torch import Tensor

from deshadow.data.degraded_masks import MaskDegradation, degrade_masks, fill_boxes
from deshadow.data.rng import Draws
from deshadow.image.morphology import dilate, erode

NONE = MaskDegradation(0, 0, 0, 0, 0, 0, 0)
DRAWS = Draws(0, torch.arange(48))


def disc(count: int = 48, size: int = 128) -> Tensor:
    line = torch.arange(size) - size / 2
    return ((line[None] ** 2 + line[:, None] ** 2) < (size / 4) ** 2).expand(count, 1, size, size)


def area(mask: Tensor) -> Tensor:
    return mask.float().mean((1, 2, 3))


def test_no_fault_leaves_the_mask() -> None:
    assert torch.equal(degrade_masks(disc(), DRAWS, NONE), disc().float())


def test_values_stay_between_0_and_1() -> None:
    degraded = degrade_masks(disc(), DRAWS)
    assert float(degraded.min()) >= 0
    assert float(degraded.max()) <= 1


def test_widening_covers_and_narrowing_is_covered() -> None:
    wide, thin = (
        degrade_masks(disc(), DRAWS, replace(NONE, **{name: 1.0})) > 0.5 for name in ("widen", "narrow")
    )
    assert not (disc() & ~wide).any()
    assert not (thin & ~disc()).any()
    assert (area(wide) > area(disc())).all()
    assert (area(thin) < area(disc())).all()


def test_a_ragged_outline_wavers_both_ways_but_not_far() -> None:
    ragged = degrade_masks(disc(), DRAWS, replace(NONE, ragged=1.0)) > 0.5
    assert (ragged & ~disc()).flatten(1).any(1).all()
    assert (disc() & ~ragged).flatten(1).any(1).all()
    assert not (ragged & ~dilate(disc(), 8)).any()
    assert not (erode(disc(), 8) & ~ragged).any()


def test_spots_are_small() -> None:
    spotted = degrade_masks(disc(), DRAWS, replace(NONE, spots=1.0)) > 0.5
    wrong = area(spotted ^ disc())
    assert 0.001 < float(wrong.mean()) < 0.05


def test_a_box_is_the_box_around_the_mask() -> None:
    mask = torch.zeros(2, 1, 8, 8, dtype=torch.bool)
    mask[0, 0, 2, 3] = mask[0, 0, 5, 1] = True
    wanted = torch.zeros_like(mask)
    wanted[0, 0, 2:6, 1:4] = True
    assert torch.equal(fill_boxes(mask), wanted)


def test_a_brush_covers_most_of_the_shadow_and_goes_over_its_edge() -> None:
    brushed = degrade_masks(disc(), DRAWS, replace(NONE, brush=1.0)) > 0.5
    assert float((brushed & disc()).float().sum() / disc().float().sum()) > 0.85
    assert (brushed & ~disc()).any()


def test_a_soft_edge_has_values_between() -> None:
    soft = degrade_masks(disc(), DRAWS, replace(NONE, soft=1.0))
    between = ((soft > 0.05) & (soft < 0.95)).flatten(1).any(1)
    assert between.all()


@pytest.mark.parametrize("name", ["widen", "narrow", "ragged", "box", "soft"])
def test_a_fault_is_as_frequent_as_asked(name: str) -> None:
    draws = Draws(1, torch.arange(400))
    changed = (
        (degrade_masks(disc(400, 32), draws, replace(NONE, **{name: 0.3})) != disc(400, 32).float())
        .flatten(1)
        .any(1)
    )
    assert abs(float(changed.float().mean()) - 0.3) < 0.08
