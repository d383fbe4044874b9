"""How a shadow looks: the light that is left in it, and the pictures with and without the shadow."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws
from deshadow.data.synth.constants import constant
from deshadow.data.synth.penumbra import binomial, resize_bilinear
from deshadow.data.synth.recipe import Darkness, ShadowRecipe
from deshadow.image.colour import LUMINANCE, decode_srgb, linear_to_srgb, luminance, round_to_8_bits


class Sky(NamedTuple):
    """Light that is left where the sun is blocked, for a batch."""

    share: Tensor  # (B, 3, H, W) of the lit pixel's linear light
    noise: Tensor  # (B, 3, H, W) in sRGB, where all sun is blocked


def draw_dark_rates(draws: Draws, darkness: Darkness) -> Tensor:
    """Dark rates (B,) from their distribution."""
    table = constant(darkness.quantiles, draws.index.device).log()
    place = draws.uniform("darkness") * (len(table) - 1)
    below = place.long().clamp(max=len(table) - 2)
    return torch.lerp(table[below], table[below + 1], place - below).exp()


def draw_sky(draws: Draws, recipe: ShadowRecipe, light: Tensor) -> Sky:
    """Draw the light of the shadows for lit pictures `light` (B, 3, H, W) in linear light.

    ln share = −ln(dark rate) + tint per channel + a smooth field
               + (contrast − 1)·(smooth ln L − mean ln L) − flatness·(ln L − smooth ln L)
    """
    height, width = light.shape[-2:]
    rate = draw_dark_rates(draws, recipe.darkness)
    blue = recipe.blue[0] + recipe.blue[1] * draws.normal("blue", 1)
    green = recipe.green * draws.normal("green", 1)
    tint = torch.cat([-blue, green, blue], 1)
    chance, deviation = recipe.filter
    if chance:
        coloured = draws.chance("filter/there", 1, of=chance)
        tint = tint + coloured * deviation * draws.normal("filter", 3).clamp(-2, 2)
    weights = constant(LUMINANCE, light.device)
    # A grey surface keeps the dark rate that was drawn, whatever the tint.
    tint = tint - torch.log((tint.exp() * weights).sum(1, keepdim=True))
    field = recipe.unevenness * draw_lumps(draws, "unevenness", height, width)

    level = torch.log(luminance(light) + 0.004)
    smooth = local_mean(level)
    relief = level - smooth
    contrast = (recipe.contrast[0] - 1 + recipe.contrast[1] * draws.normal("contrast", 1)).clamp(-0.3, 0.4)
    flatness = draws.uniform("flatness", 1, high=recipe.flatness)
    mean = smooth.mean((2, 3), keepdim=True)
    detail = contrast[:, :, None, None] * (smooth - mean).clamp(-2, 2) - flatness[:, :, None, None] * relief
    share = torch.exp(field + detail + (tint - rate.log()[:, None])[:, :, None, None]).clamp(max=0.97)

    # A grain has a deviation of 1/√12; grey and colour together have that of `strength`.
    strength = draws.uniform("noise/strength", 1, 1, 1, high=12**0.5 * recipe.noise / 255)
    grey, *colours = draws.grain("noise", height, width)
    grain = torch.stack([0.87 * grey + 0.5 * colour for colour in colours], 1)
    return Sky(share, strength * grain)


def draw_lumps(draws: Draws, stream: str, height: int, width: int) -> Tensor:
    """Smooth random field (B, 1, H, W) of unit deviation: a few broad lumps over the frame."""
    coarse = draws.normal(stream, 1, 5, 5)
    field = F.interpolate(coarse, size=(height, width), mode="bicubic", align_corners=True)
    return field / field.std((2, 3), keepdim=True).clamp_min(0.3)


def local_mean(level: Tensor) -> Tensor:
    """Mean of (B, 1, H, W) around each pixel, by a coarse copy."""
    return resize_bilinear(binomial(F.avg_pool2d(level, 4, ceil_mode=True)), level.shape[-2:])


def shade(light: Tensor, sky: Sky, sun: Tensor) -> Tensor:
    """8-bit picture of the surface `light` (B, 3, H, W) where `sun` (B, 1, H, W) of the sun arrives."""
    lost = 1 - sun
    return round_to_8_bits(linear_to_srgb(light * (sun + lost * sky.share)) + lost * sky.noise)


def shade_pictures(
    background: Tensor, draws: Draws, recipe: ShadowRecipe, before: Tensor, after: Tensor
) -> tuple[Tensor, Tensor]:
    """8-bit pictures (B, 3, H, W) under the sun `before` and `after` (B, 1, H, W), equal where those are."""
    light = decode_srgb(background)
    left = draw_sky(draws, recipe, light)
    clean = shade(light, left, after)
    picture = torch.where(before < after, shade(light, left, before), clean)
    return picture, clean
