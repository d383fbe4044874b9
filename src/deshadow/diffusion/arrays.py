"""Functions of numpy and torch arrays alike, so that one implementation serves both."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

    Rng = np.random.Generator | torch.Generator
    """A generator of random numbers, of the library whose arrays it fills."""

FloatArray = NDArray[np.floating[Any]]
Array = TypeVar("Array", FloatArray, "torch.Tensor")


def normal_like(array: Array, rng: "Rng | Sequence[Rng]") -> Array:
    """Standard normal noise of the array's shape, dtype and device, from a generator of its own library.

    With one generator for each picture of the batch, the noise of a picture does not depend on the others.
    """
    if isinstance(rng, Sequence):
        parts = [normal_like(array[place], one) for place, one in enumerate(rng)]
        return stack(parts)
    if isinstance(array, np.ndarray):
        if not isinstance(rng, np.random.Generator):
            raise ValueError("numpy arrays need a numpy.random.Generator for their noise")
        return rng.standard_normal(array.shape).astype(array.dtype)
    import torch

    if not isinstance(rng, torch.Generator):
        raise ValueError("torch tensors need a torch.Generator for their noise")
    return torch.randn(array.shape, generator=rng, dtype=array.dtype, device=array.device)


def generator_like(array: "FloatArray | torch.Tensor", rng: "np.random.Generator") -> "Rng":
    """A generator that fills arrays of this library and device, seeded by the given one."""
    if isinstance(array, np.ndarray):
        return rng
    import torch

    return torch.Generator(array.device).manual_seed(int(rng.integers(1 << 63)))


def stack(arrays: Sequence[Array]) -> Array:
    """Arrays of one shape as one array with a new first axis."""
    if isinstance(arrays[0], np.ndarray):
        return np.stack(arrays)
    import torch

    return torch.stack(list(arrays))


def to_numpy(array: "FloatArray | torch.Tensor") -> NDArray[np.float32]:
    """The same numbers as a contiguous float32 array in main memory."""
    if not isinstance(array, np.ndarray):
        array = _fetch(array.detach().float()).numpy()
    return np.ascontiguousarray(array, np.float32)


def _fetch(tensor: "torch.Tensor") -> "torch.Tensor":
    """The tensor in main memory, by way of pinned memory, to which a GPU copies many times as fast."""
    if not tensor.is_cuda:
        return tensor.cpu()
    import torch

    pinned = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=True)
    pinned.copy_(tensor)
    return pinned.clone()  # so that no result keeps pinned memory, which cannot be swapped


def like(array: Array, result: "FloatArray | torch.Tensor") -> Array:
    """The result converted to the library, dtype and device of `array`."""
    if isinstance(array, np.ndarray):
        return to_numpy(result).astype(array.dtype, copy=False)
    import torch

    return torch.as_tensor(result).to(array)


def check_pair(picture: Array, mask: Array) -> None:
    """Raise ValueError unless these are a picture (B, 3, H, W) and a mask (B, 1, H, W) of finite numbers."""
    check_picture(picture)
    check_picture(mask, "mask", 1)
    if picture.shape[0] != mask.shape[0] or picture.shape[2:] != mask.shape[2:]:
        raise ValueError(
            f"the mask, {tuple(mask.shape)}, does not fit the picture, {tuple(picture.shape)}: "
            "both need the same batch, height and width"
        )


def check_picture(array: Array, name: str = "picture", channels: int = 3) -> None:
    """Raise ValueError unless the array is (B, channels, H, W), not empty, and finite."""
    if array.ndim != 4 or array.shape[1] != channels:
        raise ValueError(f"the {name} must be (B, {channels}, H, W), not {tuple(array.shape)}")
    if 0 in array.shape:
        raise ValueError(f"the {name} is empty: its shape is {tuple(array.shape)}")
    if not _is_finite(array):
        raise ValueError(f"the {name} has values that are not finite numbers (NaN or infinity)")


def _is_finite(array: Array) -> bool:
    """Whether all numbers are finite."""
    if isinstance(array, np.ndarray):
        return bool(np.isfinite(array).all())
    # On a GPU a sum is one kernel instead of many; if it is finite, so are its terms.
    return math.isfinite(array.sum().item()) or bool(array.isfinite().all())


def pad_to_multiple(array: Array, multiple: int) -> Array:
    """(B, C, H, W) → the same, its last row and column repeated until H and W are multiples."""
    height, width = (-size % multiple for size in array.shape[2:])
    if not height and not width:
        return array
    if isinstance(array, np.ndarray):
        return np.pad(array, ((0, 0), (0, 0), (0, height), (0, width)), mode="edge")
    from torch.nn.functional import pad

    return pad(array, (0, width, 0, height), mode="replicate")
