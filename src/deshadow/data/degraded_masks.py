"""Masks as people and detectors draw them: too wide, too narrow, ragged, spotted, boxed or brushed."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from deshadow.data.rng import Draws
from deshadow.data.synth.penumbra import binomial, resize_bilinear
from deshadow.image.morphology import dilate, dilation_radius, erode

STREAM = "sloppy"
"""First part of the names of all random streams here: another one would draw other masks."""


@dataclass(frozen=True)
class MaskDegradation:
    """The chance of each fault. Lengths are those at a size of 256 and grow with it."""

    widen: float = 0.35
    """Dilated by 4 to 18 pixels."""
    narrow: float = 0.2
    """Eroded by 1 to 4 pixels."""
    ragged: float = 0.5
    """An outline that wavers in and out."""
    spots: float = 0.25
    """Small false areas, and small holes."""
    box: float = 0.12
    """The bounding box of the shadow instead of its outline."""
    brush: float = 0.12
    """A few strokes of a thick brush over the shadow."""
    soft: float = 0.3
    """A soft edge."""


DEFAULT_DEGRADATION = MaskDegradation()


def degrade_masks(mask: Tensor, draws: Draws, degradation: MaskDegradation = DEFAULT_DEGRADATION) -> Tensor:
    """True masks (B, 1, H, W) bool → degraded ones, float in [0, 1]; each picture has faults of its own."""
    value = mask.float()

    def chance(name: str, of: float) -> Tensor:
        return draws.chance(f"{STREAM}/{name}", 1, 1, 1, of=of)

    value = torch.where(chance("brush", degradation.brush), brush(value, draws), value)
    value = torch.where(chance("widen", degradation.widen), widen(value, draws), value)
    value = torch.where(chance("narrow", degradation.narrow), narrow(value, draws), value)
    value = torch.where(chance("ragged", degradation.ragged), roughen(value, draws), value)
    value = torch.where(chance("spots", degradation.spots), add_spots(value, draws), value)
    value = torch.where(chance("box", degradation.box), fill_boxes(mask).float(), value)
    return torch.where(chance("soft", degradation.soft), soften_edges(value), value)


def widen(mask: Tensor, draws: Draws) -> Tensor:
    """Dilate each mask by one of three lengths."""
    choice = draws.integers(f"{STREAM}/wide", 1, 1, 1, high=3)
    height, width = mask.shape[-2:]
    radii = [dilation_radius(height, width, at_256) for at_256 in (4, 10, 18)]
    first, second, third = (dilate(mask, radius) for radius in radii)
    return torch.where(choice == 0, first, torch.where(choice == 1, second, third))


def narrow(mask: Tensor, draws: Draws) -> Tensor:
    """Erode each mask by one of two lengths."""
    choice = draws.chance(f"{STREAM}/thin", 1, 1, 1, of=0.6)
    height, width = mask.shape[-2:]
    thin, thinner = (erode(mask, dilation_radius(height, width, at_256)) for at_256 in (1, 4))
    return torch.where(choice, thin, thinner)


def roughen(mask: Tensor, draws: Draws) -> Tensor:
    """Cut a blurred copy of each mask at a level that varies from place to place."""
    height, width = mask.shape[-2:]
    coarse = binomial(binomial(F.avg_pool2d(mask, 2, ceil_mode=True)))
    blurred = resize_bilinear(coarse, mask.shape[-2:])
    level = torch.zeros_like(mask)
    for octave, cells in enumerate((9, 24)):
        lumps = draws.normal(f"{STREAM}/ragged/{octave}", 1, cells, cells)
        level = level + F.interpolate(lumps, size=(height, width), mode="bicubic", align_corners=True)
    return (blurred > torch.sigmoid(level).clamp(0.08, 0.92)).float()


def add_spots(mask: Tensor, draws: Draws) -> Tensor:
    """Add a few false areas and cut a few holes."""
    height, width = mask.shape[-2:]
    lumps = draws.normal(f"{STREAM}/spots", 1, 14, 14)
    field = F.interpolate(lumps, size=(height, width), mode="bicubic", align_corners=True)
    return torch.where(field > 2.1, 1.0, torch.where(field < -2.1, 0.0, mask))


def fill_boxes(mask: Tensor) -> Tensor:
    """Fill the bounding box (B, 1, H, W) of each mask; an empty mask stays empty."""
    rows, columns = mask.amax(3, keepdim=True), mask.amax(2, keepdim=True)
    return fill_between(rows, 2) & fill_between(columns, 3)


def fill_between(line: Tensor, axis: int) -> Tensor:
    """Fill a line of flags from the first to the last that is set."""
    value = line.int()
    return (value.cummax(axis).values & value.flip(axis).cummax(axis).values.flip(axis)).bool()


def brush(mask: Tensor, draws: Draws) -> Tensor:
    """Cover each mask with overlapping round dabs about as wide as a sixteenth of the frame."""
    height, width = mask.shape[-2:]
    wobble = 0.25 * draws.normal(f"{STREAM}/brush", 1, 16, 16)
    coarse = F.adaptive_avg_pool2d(mask, (16, 16))
    dabs = ((coarse * 3 + wobble) > 0.35).float() * (coarse > 0)
    dabs = F.interpolate(dabs, size=(height, width), mode="bicubic", align_corners=False)
    return (dabs > 0.4).float()


def soften_edges(mask: Tensor) -> Tensor:
    """Blur the outline over a few pixels."""
    for _ in range(max(1, round(3 * min(mask.shape[-2:]) / 256))):
        mask = binomial(mask)
    return mask
