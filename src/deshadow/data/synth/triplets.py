"""Synthetic triplets in batches, on any device, after SynShadow (Inoue and Yamasaki)."""

from typing import NamedTuple

import torch
from torch import Tensor

from deshadow.data.rng import Draws
from deshadow.data.synth.occluders import Occluders
from deshadow.data.synth.projection import Placement, cast, place
from deshadow.data.synth.recipe import DEFAULT_RECIPE, ShadowRecipe, Targets
from deshadow.data.synth.shading import shade_pictures
from deshadow.data.synth.standing import stand


class Triplets(NamedTuple):
    """A batch of B pictures with up to K shadows each. Pictures are 8-bit sRGB, masks are bool."""

    picture: Tensor  # (B, 3, H, W) with every shadow
    mask: Tensor  # (B, 1, H, W) where picture and clean may differ; elsewhere they are equal
    clean: Tensor  # (B, 3, H, W) without the target shadows, the others still there
    instances: Tensor  # (B, K, H, W) the whole of each shadow, penumbra included
    targets: Tensor  # (B, K) which of them are removed in clean
    sun: Tensor  # (B, 1, H, W) in [0, 1], the share of the sun that arrives past all of them
    things: Tensor  # (B, 1, H, W) bool, where occluders are seen themselves


def synthesise(
    backgrounds: Tensor,
    occluders: Occluders,
    index: Tensor,
    seed: int = 0,
    recipe: ShadowRecipe = DEFAULT_RECIPE,
) -> Triplets:
    """Make the triplets number `index` (B,) over backgrounds (N, 3, H, W) of 8 bits.

    A picture depends on its number, the seed, the recipe and the two banks alone. All shadows of a
    picture come from one sun: where two overlap, removing one changes nothing.
    """
    draws = Draws(seed, index)
    return cast_shadows(choose_backgrounds(draws, backgrounds), occluders, draws, recipe)


def choose_backgrounds(draws: Draws, backgrounds: Tensor) -> Tensor:
    """(B, 3, H, W): the background of each picture."""
    return backgrounds[draws.integers("background", high=len(backgrounds))]


def cast_shadows(lit: Tensor, occluders: Occluders, draws: Draws, recipe: ShadowRecipe) -> Triplets:
    """Cast shadows on pictures (B, 3, H, W) of 8 bits."""
    placement = place(draws, recipe, occluders)
    visible = cast(placement, occluders, *lit.shape[-2:])
    things = torch.zeros_like(visible[:, :1], dtype=torch.bool)
    if recipe.standing:
        lit, visible, things = stand(lit, visible, placement, occluders, draws)
    targets = choose_targets(draws, recipe.targets, placement, visible)
    others = torch.where(targets[..., None, None], 1.0, visible).prod(1, keepdim=True)
    everything = visible.prod(1, keepdim=True)
    picture, clean = shade_pictures(lit, draws, recipe, everything, others)
    return Triplets(picture, everything < others, clean, visible < 1, targets, everything, things)


def choose_targets(draws: Draws, which: Targets, placement: Placement, visible: Tensor) -> Tensor:
    """Choose (B, K) shadows to remove, one at least whose removal shows."""
    if which == "all":
        return placement.active
    slots = visible.shape[1]
    everything = visible.prod(1, keepdim=True)
    blocked = (everything / visible.clamp_min(1e-3) - everything).mean((2, 3))
    seen = placement.active & (blocked > 0.003)
    # One of the seen ones at random; the most visible where none passes.
    score = torch.where(seen, 1 + draws.uniform("target", slots), blocked)
    one = score.argmax(1, keepdim=True) == torch.arange(slots, device=score.device)
    if which == "one":
        return one
    return placement.active & (one | draws.chance("some", slots, of=0.5))
