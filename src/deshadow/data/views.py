"""Views for training a detector: any part of a picture at any zoom and aspect ratio, in any light."""

from dataclasses import dataclass

import torch
from torch import Tensor

from deshadow.data.augment import Augmentation, draw_gains
from deshadow.data.grids import pixel_centres, turn
from deshadow.data.rng import Draws
from deshadow.image.colour import linear_to_srgb, luminance, srgb_to_linear


@dataclass(frozen=True)
class View:
    """How far a view may differ from the picture."""

    whole: float = 0.3
    """Probability of the whole picture, squeezed into a square."""
    zoom: tuple[float, float] = (0.4, 1.4)
    """Smallest and largest share of a side in all other views, log-uniform; beyond its border the picture is
    mirrored."""
    aspect: float = 0.25
    """Standard deviation of the natural log of the aspect ratio."""
    turned: float = 0.4
    """Probability of a rotation by 90, 180 or 270 degrees."""
    exposure: float = 0.7
    """Standard deviation of the exposure in stops."""
    balance: float = 0.12
    """Standard deviation of the natural log of the gains of red and blue."""
    gamma: float = 0.18
    """Standard deviation of the natural log of the tone curve's exponent."""
    faded: tuple[float, float] = (0.15, 0.1)
    """Probabilities of paler colours, and of a grey picture."""
    noise: float = 4.0
    """Largest standard deviation of the noise, in levels of 255."""


DEFAULT_VIEW = View()


def view_grid(draws: Draws, height: int, width: int, size: int, chosen: View = DEFAULT_VIEW) -> Tensor:
    """Points (B, size, size, 2) in [-1, 1]² of random parts of a picture, upright or rotated by quarters."""
    least, most = chosen.zoom
    zoom = least * (most / least) ** draws.uniform("view/zoom", 1)
    stretch = torch.exp(0.5 * chosen.aspect * draws.normal("view/aspect", 1).clamp(-2, 2))
    whole = draws.chance("view/whole", 1, of=chosen.whole)
    spans = []
    centres = []
    for axis, span in (("x", zoom * stretch), ("y", zoom / stretch)):
        share = torch.where(whole, 1.0, span)
        room = (1 - share).clamp(min=0)
        spans.append(share)
        centres.append((2 * draws.uniform(f"view/{axis}", 1) - 1) * room)
    line = pixel_centres(size, draws.index.device)
    across, down = line[None, None, :], line[None, :, None]
    quarters = draws.integers("view/quarter", 1, 1, high=3) + 1
    quarters = torch.where(draws.chance("view/turned", 1, 1, of=chosen.turned), quarters, 0)
    u, v = turn(across, down, quarters, draws.chance("view/mirror", 1, 1, of=0.5))
    x, y = (
        centre[..., None] + part * span[..., None]
        for centre, part, span in zip(centres, (u, v), spans, strict=True)
    )
    return torch.stack([x, y], -1)


def vary_light(picture: Tensor, draws: Draws, chosen: View = DEFAULT_VIEW) -> Tensor:
    """(B, 3, H, W) sRGB in [0, 1] → the same in another light, as taken by another camera."""
    gains = draw_gains(draws, Augmentation(exposure=chosen.exposure, balance=chosen.balance))
    gamma = torch.exp(chosen.gamma * draws.normal("view/gamma", 1, 1, 1).clamp(-2, 2))
    light = srgb_to_linear(picture) * gains[:, :, None, None]
    pale, grey = (
        draws.chance(f"view/{name}", 1, 1, 1, of=of)
        for name, of in zip(("pale", "grey"), chosen.faded, strict=True)
    )
    left = torch.where(pale, draws.uniform("view/left", 1, 1, 1), 1.0)
    light = torch.lerp(luminance(light), light, torch.where(grey, 0.0, left))
    picture = linear_to_srgb(light).clamp_min(1e-4) ** gamma
    strength = draws.uniform("view/noise", 1, 1, 1, high=12**0.5 * chosen.noise / 255)
    grain = draws.grain("view/grain", *picture.shape[-2:])[:3].transpose(0, 1)
    return (picture + strength.square() * (255 / (12**0.5 * chosen.noise)) * grain).clamp(0, 1)
