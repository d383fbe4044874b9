"""Weights of 8 bits: half the size of half precision, with one scale for each output channel."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALE = ".scale"
"""Behind the name of a tensor of 8 bits: what its whole numbers are to be multiplied with."""
LARGEST = 127

Tensors = dict[str, NDArray[Any]]


def quantised(tensors: Mapping[str, NDArray[Any]]) -> Tensors:
    """Matrices and convolutions as whole numbers from −127 to 127 with their scales; all else as it is."""
    found: Tensors = {}
    for name, tensor in tensors.items():
        if tensor.ndim < 2 or name + SCALE in tensors or name.endswith(SCALE):
            found[name] = tensor
            continue
        wide = tensor.astype(np.float32)
        # float16 holds the scales, which are no larger than the weights; rounded before they are divided by.
        peak = np.abs(wide).max(axis=tuple(range(1, wide.ndim)), keepdims=True)
        scale = np.maximum(peak / LARGEST, np.finfo(np.float16).tiny).astype(np.float16)
        whole = np.rint(wide / scale.astype(np.float32)).clip(-LARGEST, LARGEST)
        found[name], found[name + SCALE] = whole.astype(np.int8), scale
    return found


def widened(tensors: Mapping[str, NDArray[Any]]) -> Tensors:
    """The inverse of `quantised`, in float32; tensors that never were of 8 bits stay as they are."""
    return {
        name: tensor.astype(np.float32) * tensors[name + SCALE] if name + SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }
