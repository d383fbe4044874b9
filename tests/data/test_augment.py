from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from deshadow.data.augment import (
    DEFAULT_AUGMENTATION,
    FLOOR,
    Augmentation,
    Pairs,
    augment,
    vary,
)
from deshadow.data.rng import Draws
from deshadow.data.synth.procedural import draw_backgrounds, draw_occluders
from deshadow.data.synth.triplets import synthesise
from deshadow.image.colour import decode_srgb, linear_to_srgb, round_to_8_bits

STILL = Augmentation(crop=(1.0, 1.0), flip=False, turn=False, exposure=0.0, balance=0.0, depth=0.0, tint=0.0)


@cache
def pairs(count: int = 24, size: int = 64) -> Pairs:
    made = synthesise(draw_backgrounds(7, size), draw_occluders(4, 64), torch.arange(count))
    return Pairs(made.picture, made.mask, made.clean)


@pytest.mark.parametrize("size", [32, 48, 64, 96])
def test_the_mask_still_covers_every_difference(size: int) -> None:
    varied = augment(pairs(), Draws(0, torch.arange(24)), size)
    assert varied.picture.shape == (24, 3, size, size)
    differs = (varied.picture != varied.clean).any(1, keepdim=True)
    assert differs.any()
    assert not (differs & ~varied.mask).any()
    assert not varied.mask.all()


def test_nothing_asked_for_changes_nothing() -> None:
    before = pairs()
    after = augment(before, Draws(0, torch.arange(24)), 64, STILL)
    assert all(torch.equal(first, second) for first, second in zip(before, after, strict=True))


def test_flips_and_turns_give_the_eight_positions_of_a_square_alike_for_all_three() -> None:
    picture = torch.arange(64, dtype=torch.uint8).view(1, 1, 8, 8).expand(64, 3, 8, 8)
    draws = Draws(0, torch.arange(64))
    turned = augment(
        Pairs(picture, picture[:, :1] > 40, picture),
        draws,
        8,
        Augmentation((1, 1), exposure=0, balance=0, depth=0, tint=0),
    )
    square = picture[0, 0]
    positions = {
        tuple(torch.rot90(side, k).flatten().tolist()) for side in (square, square.flip(1)) for k in range(4)
    }
    assert {tuple(each[0].flatten().tolist()) for each in turned.picture} == positions
    assert torch.equal(turned.mask, turned.picture[:, :1] > 40)
    assert torch.equal(turned.picture, turned.clean)


def test_light_changes_both_pictures_by_one_gain_in_linear_light() -> None:
    grey = torch.full((8, 3, 16, 16), 100, dtype=torch.uint8)
    lighter = Augmentation(
        crop=(1.0, 1.0), flip=False, turn=False, exposure=0.5, balance=0.0, depth=0.0, tint=0.0
    )
    varied = augment(Pairs(grey, grey[:, :1] > 0, grey), Draws(1, torch.arange(8)), 16, lighter)
    assert torch.equal(varied.picture, varied.clean)
    assert len(set(varied.picture[:, 0, 0, 0].tolist())) > 4
    assert torch.equal(varied.picture[:, 0], varied.picture[:, 2])


def test_white_balance_tells_red_from_blue() -> None:
    grey = torch.full((8, 3, 16, 16), 100, dtype=torch.uint8)
    tinted = Augmentation(crop=(1.0, 1.0), flip=False, turn=False, exposure=0.0, balance=0.1)
    varied = augment(Pairs(grey, grey[:, :1] > 0, grey), Draws(1, torch.arange(8)), 16, tinted).picture
    assert (varied[:, 1] == 100).all()
    assert (varied[:, 0] != varied[:, 2]).any()


def test_hue_and_saturation_change_colours_alike_in_both_pictures_and_leave_grey_alone() -> None:
    flat = torch.tensor([[120, 100, 80], [100, 100, 100]], dtype=torch.uint8).repeat(4, 1)
    colours = flat[..., None, None].expand(8, 3, 16, 16).contiguous()
    half = torch.arange(16).expand(8, 1, 16, 16) < 8
    shaded = torch.where(half, round_to_8_bits(linear_to_srgb(decode_srgb(colours) * 0.4)), colours)
    chosen = replace(STILL, hue=30.0, saturation=0.5)
    varied = augment(Pairs(shaded, half, colours), Draws(1, torch.arange(8)), 16, chosen)
    assert (varied.clean[1::2] == 100).all()
    light = decode_srgb(varied.clean[::2, :, 0, 0])
    before = decode_srgb(colours[0, :, 0, 0])
    assert torch.allclose(light.mean(1), before.mean().expand(4), atol=2e-3)
    chroma = light - light.mean(1, keepdim=True)
    lengths = chroma.norm(dim=1) / (before - before.mean()).norm()
    assert lengths.max() / lengths.min() > 1.2
    cosines = chroma @ (before - before.mean()) / chroma.norm(dim=1) / (before - before.mean()).norm()
    assert 0.4 < cosines.min() < 0.95  # turned by at most 60 degrees
    # The shadow is as deep as before, and what was equal still is.
    ratio = decode_srgb(varied.picture) / decode_srgb(varied.clean)
    assert torch.allclose(ratio[..., :8], torch.tensor(0.4), atol=0.03)
    assert (ratio[..., 8:] == 1).all()


def test_depth_raises_the_ratio_to_a_power_and_leaves_alone_what_is_equal() -> None:
    before = pairs()
    after = augment(before, Draws(0, torch.arange(24)), 64, replace(STILL, depth=0.2))
    assert torch.equal(after.clean, before.clean)
    assert torch.equal(after.mask, before.mask)
    lit = ~before.mask.expand_as(before.picture)
    assert torch.equal(after.picture[lit], before.picture[lit])
    powers = []
    for one, other, clean, inside in zip(
        before.picture, after.picture, before.clean, before.mask, strict=True
    ):
        dark = inside.expand_as(one) & (one > 20) & (other > 20) & (clean.int() > one.int() + 20)
        if dark.sum() < 100:
            continue
        logs = [(decode_srgb(each)[dark] + FLOOR).log() for each in (one, other, clean)]
        ratio = (logs[1] - logs[2]) / (logs[0] - logs[2])
        assert ratio.std() < 0.1
        powers.append(float(ratio.median()))
    assert len(powers) > 12
    assert 0.1 < np.std(powers) < 0.3
    assert np.mean(powers) == pytest.approx(1, abs=0.1)


def test_pictures_are_varied_as_pairs_are() -> None:
    before, draws = pairs(), Draws(0, torch.arange(24))
    chosen = replace(DEFAULT_AUGMENTATION, depth=0.0, tint=0.0)
    assert torch.equal(vary(before.clean, draws, 48, chosen), augment(before, draws, 48, chosen).clean)


def test_a_batch_may_be_split() -> None:
    before = pairs(6)
    whole = augment(before, Draws(3, torch.arange(6)), 48)
    halves = [
        augment(Pairs(*(part[k : k + 3] for part in before)), Draws(3, torch.arange(k, k + 3)), 48)
        for k in (0, 3)
    ]
    assert torch.equal(whole.picture, torch.cat([half.picture for half in halves]))
    assert torch.equal(whole.mask, torch.cat([half.mask for half in halves]))


def test_results_are_laid_out_channels_last() -> None:
    varied = augment(pairs(4), Draws(0, torch.arange(4)), 32)
    assert varied.picture.is_contiguous(memory_format=torch.channels_last)
    assert varied.clean.is_contiguous(memory_format=torch.channels_last)


def test_a_crop_larger_than_the_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="crop"):
        Augmentation(crop=(0.5, 1.5))
