"""Resizing as MATLAB's imresize does it, which the published numbers were made with."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

PROTOCOL_SIDE = 256
"""Side at which the published protocol scores."""
_BLOCK = 8


def bicubic(picture: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """(H, W, 3) or (H, W) → (height, width, …): bicubic, antialiased where it shrinks.

    As in MATLAB the axis that shrinks most goes first, and the 8-bit values are rounded after each axis.
    """
    axes = [(height / picture.shape[0], 0, height), (width / picture.shape[1], 1, width)]
    for _, axis, size in sorted(axes):
        if size != picture.shape[axis]:
            picture = _resize_along(picture, axis, size)
    return picture


def nearest(mask: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """(H, W) → (height, width): each pixel takes the value at its centre."""
    rows, columns = (
        ((2 * np.arange(size) + 1) * before) // (2 * size)
        for before, size in zip(mask.shape, (height, width), strict=True)
    )
    resized: NDArray[np.uint8] = mask[rows[:, None], columns]
    return resized


def cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keys' kernel with a = −1/2, zero from 2 on."""
    x = np.abs(x)
    near = (1.5 * x - 2.5) * x**2 + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x <= 1, near, np.where(x <= 2, far, 0.0))


@lru_cache(maxsize=64)
def weights(before: int, after: int) -> NDArray[np.float64]:
    """(after, before): the weight of each pixel of a line in each pixel of the resized line."""
    scale = after / before
    narrow = min(scale, 1.0)  # a picture that shrinks needs a wider kernel, or pixels would be skipped
    centres = (np.arange(after) + 0.5) / scale - 0.5
    reach = int(np.ceil(4 / narrow)) + 2
    places = np.floor(centres - 2 / narrow).astype(int)[:, None] + np.arange(reach)
    taps = narrow * cubic(narrow * (centres[:, None] - places))
    taps /= taps.sum(axis=1, keepdims=True)
    # Beyond the border the line is mirrored: … 1 0 | 0 1 … n−1 | n−1 n−2 …
    mirrored = places % (2 * before)
    mirrored = np.where(mirrored < before, mirrored, 2 * before - 1 - mirrored)
    matrix = np.zeros((after, before))
    np.add.at(matrix, (np.arange(after)[:, None], mirrored), taps)
    matrix.flags.writeable = False  # it is cached, so that callers share it
    return matrix


def _resize_along(picture: NDArray[np.uint8], axis: int, size: int) -> NDArray[np.uint8]:
    moved = np.moveaxis(picture, axis, 0)
    lines = moved.reshape(len(moved), -1).astype(np.float64)
    matrix = weights(len(lines), size)
    resized = np.empty((size, lines.shape[1]))
    # The matrix is a band along its diagonal, so only the band of each block is multiplied. einsum, because
    # the threads of a BLAS would compete with those that read and score pictures.
    for start in range(0, size, _BLOCK):
        rows = matrix[start : start + _BLOCK]
        used = np.flatnonzero(rows.any(axis=0))
        band = slice(used[0], used[-1] + 1)
        np.einsum("ij,jk->ik", rows[:, band], lines[band], out=resized[start : start + _BLOCK])
    rounded = np.floor(resized + 0.5).clip(0, 255).astype(np.uint8)
    return np.moveaxis(rounded.reshape(size, *moved.shape[1:]), 0, axis)
