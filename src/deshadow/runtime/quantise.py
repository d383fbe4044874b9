"""Weights of 8 bits: half the size of half precision, with one scale for each output channel."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALE = ".scale"
"""Suffix of the name of an 8-bit tensor's scale, which its whole numbers are multiplied with."""
LARGEST = 127

Tensors = dict[str, NDArray[Any]]


def quantise(tensors: Mapping[str, NDArray[Any]]) -> Tensors:
    """Matrices and convolutions as whole numbers from −127 to 127, each with its scale.

    The scales and the other tensors, which are small, are in float32, so that a runtime can use them as
    they are stored.
    """
    found: Tensors = {}
    for name, tensor in tensors.items():
        if name + SCALE in tensors:
            found[name] = tensor
            continue
        wide = tensor.astype(np.float32)
        if wide.ndim < 2 or name.endswith(SCALE):
            found[name] = wide
            continue
        peak = np.abs(wide).max(axis=tuple(range(1, wide.ndim)), keepdims=True)
        scale = np.maximum(peak / LARGEST, np.finfo(np.float32).tiny)
        found[name] = np.rint(wide / scale).clip(-LARGEST, LARGEST).astype(np.int8)
        found[name + SCALE] = scale
    return found


def dequantise(tensors: Mapping[str, NDArray[Any]]) -> Tensors:
    """The inverse of `quantise`, in float32; tensors without a scale stay as they are."""
    return {
        name: tensor.astype(np.float32) * tensors[name + SCALE] if name + SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }
