"""Dilation and erosion of masks by squares and discs, and the paper's dilation at any size."""

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Mask = TypeVar("Mask", NDArray[Any], "torch.Tensor")
"""A numpy array (H, W) or a torch tensor (B, 1, H, W), of booleans or numbers."""


def dilation_radius(height: int, width: int, at_256: int = 10) -> int:
    """The radius by which the network's mask is dilated in a picture of this size, at least 1.

    The paper dilates by a square of k = 21 pixels at 256 × 256 (Sec. 4): a radius of 10/256 of the shorter
    side, which is the side that crops and windows are measured by. `at_256` is another radius at that size.
    """
    return max(1, round(at_256 * min(height, width) / 256))


def dilate(mask: Mask, radius: int) -> Mask:
    """The mask's largest value within a square of 2 · radius + 1 pixels around each pixel."""
    if isinstance(mask, np.ndarray):
        for axis in range(2):
            mask = _largest_along(mask, radius, axis)
        return np.ascontiguousarray(mask)
    import torch
    from torch.nn.functional import max_pool2d

    side = 2 * radius + 1
    value = max_pool2d(mask.float(), (side, 1), 1, (radius, 0))
    value = max_pool2d(value, (1, side), 1, (0, radius))
    return value > 0.5 if mask.dtype == torch.bool else value


def dilate_round(mask: NDArray[Any], radius: int) -> NDArray[Any]:
    """(H, W) → (H, W): the largest value within a disc of this radius around each pixel."""
    height = len(mask)
    result = np.ascontiguousarray(_largest_along(mask, radius, 1))
    for away in range(1, min(radius, height - 1) + 1):
        wide = _largest_along(mask, math.isqrt(radius * radius - away * away), 1)
        np.maximum(result[away:], wide[:-away], out=result[away:])
        np.maximum(result[:-away], wide[away:], out=result[:-away])
    return result


def measure_distance(mask: NDArray[np.bool_], most: int) -> NDArray[np.float32]:
    """(H, W) → (H, W): the distance of each pixel to the mask, in pixels; `most` + 1 beyond `most`."""
    along = np.where(mask, np.float32(0), np.float32(most + 1)).T.copy()
    for line in range(1, len(along)):
        np.minimum(along[line], along[line - 1] + 1, out=along[line])
    for line in range(len(along) - 2, -1, -1):
        np.minimum(along[line], along[line + 1] + 1, out=along[line])
    squares = np.ascontiguousarray(along.T) ** 2
    nearest = squares.copy()
    for away in range(1, min(most, len(mask) - 1) + 1):
        np.minimum(nearest[away:], squares[:-away] + away * away, out=nearest[away:])
        np.minimum(nearest[:-away], squares[away:] + away * away, out=nearest[:-away])
    distance: NDArray[np.float32] = np.sqrt(nearest).clip(0, most + 1)
    return distance


def erode(mask: Mask, radius: int) -> Mask:
    """The mask's smallest value within each square; what lies beyond the picture does not count."""
    if isinstance(mask, np.ndarray):
        return -dilate(-mask, radius) if mask.dtype.kind == "f" else ~dilate(~mask, radius)
    return -dilate(-mask, radius) if mask.is_floating_point() else ~dilate(~mask, radius)


def _largest_along(mask: NDArray[Any], radius: int, axis: int) -> NDArray[Any]:
    """The largest value within the radius along an axis: maxima over runs that double in length."""
    lines = np.moveaxis(mask, axis, 0)
    radius = min(radius, max(len(lines) - 1, 0))
    # The repeated border adds no value that is not in the square anyway.
    lines = np.concatenate([np.repeat(lines[:1], radius, 0), lines, np.repeat(lines[-1:], radius, 0)])
    run = 1  # pixels whose maximum each value is: itself and those after it
    while run < 2 * radius + 1:
        step = min(run, 2 * radius + 1 - run)
        lines = np.maximum(lines[:-step], lines[step:])
        run += step
    return np.moveaxis(lines, 0, axis)
