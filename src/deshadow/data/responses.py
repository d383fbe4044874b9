"""Responses of cameras: what a camera does to a picture after the exposure, the same for both of a pair.

A camera's tone curve, its lifting of dark areas and its sharpening change how strong the texture under a
shadow is. A network that sees many responses learns to judge from the picture how far contrast has to come
down where a shadow is removed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws
from deshadow.data.synth.penumbra import binomial, resize_bilinear
from deshadow.image.colour import luminance


@dataclass(frozen=True)
class Response:
    """How far the responses of cameras differ."""

    gamma: float = 0.15
    """Standard deviation of the natural log of the tone curve's exponent."""
    curve: tuple[float, float] = (-0.5, 0.8)
    """Least and most strength of an S-curve; a negative one flattens the middle tones."""
    clip: float = 0.25
    """Most by which highlights are pushed beyond white, as a share."""
    lift: float = 0.6
    """Most by which dark areas are lifted, as the power of their distance from the picture's mean."""
    sharpening: tuple[float, float] = (-0.4, 1.2)
    """Least and most strength of sharpening; a negative one is noise reduction, which blurs."""


DEFAULT_RESPONSE = Response()
REACH = 16
"""Side of the squares over which a camera judges whether an area is dark, as a part of the shorter side."""


def vary_responses(
    pictures: tuple[Tensor, Tensor], draws: Draws, share: float, chosen: Response = DEFAULT_RESPONSE
) -> tuple[Tensor, Tensor]:
    """Both pictures (B, 3, H, W) in [0, 1] of each pair as another camera would give them, for a share."""
    changed = draws.chance("response", 1, 1, 1, of=share)
    one, other = (torch.where(changed, respond(picture, draws, chosen), picture) for picture in pictures)
    return one, other


def respond(picture: Tensor, draws: Draws, chosen: Response = DEFAULT_RESPONSE) -> Tensor:
    """(B, 3, H, W) in [0, 1] → the same by a camera that is drawn for each picture."""

    def draw(name: str, low: float, high: float) -> Tensor:
        return draws.uniform(f"response/{name}", 1, 1, 1, low=low, high=high)

    picture = lift_dark_areas(picture, draw("lift", 0.0, chosen.lift))
    gamma = torch.exp(chosen.gamma * draws.normal("response/gamma", 1, 1, 1).clamp(-2, 2))
    picture = picture.clamp_min(1e-4) ** gamma
    picture = (picture * (1 + draw("clip", 0.0, chosen.clip))).clamp(max=1)
    # A cubic through 0, 1/2 and 1, which rises everywhere.
    picture = picture + draw("curve", *chosen.curve) * picture * (1 - picture) * (2 * picture - 1)
    strength = draw("sharpening", *chosen.sharpening)
    return (picture + strength * (picture - binomial(picture))).clamp(0, 1)


def lift_dark_areas(picture: Tensor, power: Tensor) -> Tensor:
    """Brighten areas darker than the picture's mean, by their ratio to it to the `power` (B, 1, 1, 1)."""
    level = luminance(picture) + 0.02
    side = max(1, min(picture.shape[-2:]) // REACH)
    area = resize_bilinear(binomial(F.avg_pool2d(level, side, ceil_mode=True)), picture.shape[-2:])
    mean = level.mean((2, 3), keepdim=True)
    return (picture * (mean / area).clamp(1, 6) ** power).clamp(max=1)
