"""What a detector may be shown of a picture: any part at any zoom, squeezed or not, in any light."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.augment import Augmentation, light_gains
from deshadow.data.rng import Draws
from deshadow.image.colour import encode, linear, luminance


@dataclass(frozen=True)
class View:
    """How much a view may differ from the picture as it is."""

    whole: float = 0.3
    """Chance of the whole picture, squeezed into a square."""
    zoom: tuple[float, float] = (0.4, 1.4)
    """Least and most of a side that is seen otherwise, even in the log; beyond the border it is mirrored."""
    aspect: float = 0.25
    """Deviation of the ratio of the two sides, as a natural log."""
    turned: float = 0.4
    """Chance of a turn by one, two or three quarters."""
    exposure: float = 0.7
    """Deviation of the exposure in stops."""
    balance: float = 0.12
    """Deviation of the gain of red and of blue, as a natural log."""
    gamma: float = 0.18
    """Deviation of the exponent of the tone curve, as a natural log."""
    faded: tuple[float, float] = (0.15, 0.1)
    """Chance of paler colours, and of none at all."""
    noise: float = 4.0
    """Largest noise, in levels of 255."""


DEFAULT_VIEW = View()


def view_grid(draws: Draws, height: int, width: int, size: int, chosen: View = DEFAULT_VIEW) -> Tensor:
    """Where (B, size, size, 2) to sample a picture in [-1, 1]²: an upright or turned part of it."""
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
    line = (torch.arange(size, device=draws.index.device) + 0.5) * (2 / size) - 1
    across, down = line[None, None, :], line[None, :, None]
    quarter = draws.integers("view/quarter", 1, 1, high=3) + 1
    quarter = torch.where(draws.chance("view/turned", 1, 1, of=chosen.turned), quarter, 0)
    mirror = torch.where(draws.chance("view/mirror", 1, 1, of=0.5), -1.0, 1.0)
    sign = torch.where(quarter >= 2, -1.0, 1.0)
    odd = quarter % 2 == 1
    u = torch.where(odd, -down, across) * sign * mirror
    v = torch.where(odd, across, down) * sign
    x, y = (
        centre[..., None] + part * span[..., None]
        for centre, part, span in zip(centres, (u, v), spans, strict=True)
    )
    return torch.stack([x, y], -1)


def sample_view(picture: Tensor, grid: Tensor, samples: int) -> Tensor:
    """Sample (B, C, H, W) floats at `grid`, averaging `samples`² of them to a pixel."""
    fine = F.grid_sample(picture, grid, padding_mode="reflection", align_corners=False)
    return F.avg_pool2d(fine, samples) if samples > 1 else fine


def vary_light(picture: Tensor, draws: Draws, chosen: View = DEFAULT_VIEW) -> Tensor:
    """(B, 3, H, W) sRGB in [0, 1] → the same in another light, of another camera."""
    gains = light_gains(draws, Augmentation(exposure=chosen.exposure, balance=chosen.balance))
    gamma = torch.exp(chosen.gamma * draws.normal("view/gamma", 1, 1, 1).clamp(-2, 2))
    light = linear(picture) * gains[:, :, None, None]
    pale, grey = (
        draws.chance(f"view/{name}", 1, 1, 1, of=of)
        for name, of in zip(("pale", "grey"), chosen.faded, strict=True)
    )
    left = torch.where(pale, draws.uniform("view/left", 1, 1, 1), 1.0)
    light = torch.lerp(luminance(light), light, torch.where(grey, 0.0, left))
    picture = encode(light).clamp_min(1e-4) ** gamma
    strength = draws.uniform("view/noise", 1, 1, 1, high=12**0.5 * chosen.noise / 255)
    grain = draws.grain("view/grain", *picture.shape[-2:])[:3].transpose(0, 1)
    return (picture + strength.square() * (255 / (12**0.5 * chosen.noise)) * grain).clamp(0, 1)
