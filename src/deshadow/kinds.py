"""What the library takes for a picture: bytes, a path, Pillow's, numpy's and torch's; the same comes out.

A path gives a picture of Pillow. Outside the mask the result equals the input bit for bit, whatever its type.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.photo import Photo, read, read_image
from deshadow.photo.profile import open_profile

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
Change = tuple[Floats, Floats]
"""A result (H, W, 3), sRGB in [0, 1], and its weight (H, W), 0 where the picture stays."""

_KINDS = "a path, bytes, a picture of Pillow, an array or a tensor"


@dataclass(frozen=True, slots=True)
class Opened:
    """A picture of any kind, or a batch of them."""

    pictures: tuple[Floats, ...]
    """Each (H, W, 3), sRGB in [0, 1], as displayed."""
    finish: Callable[[Sequence[Change | None]], Any]
    """Makes of one change for each picture (None: it stays) the same kind as was opened."""


def open_picture(image: Any) -> Opened:
    """Open a picture of any kind; ValueError says what it should have been."""
    if isinstance(image, bytes | bytearray | memoryview):
        return _opened_bytes(bytes(image))
    if isinstance(image, str | Path):
        photo = read(Path(image))
        return Opened((photo.pixels,), lambda changes: _composed(photo, changes[0]).to_pil())
    if isinstance(image, Image.Image):
        return _opened_image(image)
    if isinstance(image, np.ndarray):
        picture, finish = _opened_array(image)
        return Opened((picture,), lambda changes: finish(changes[0]))
    if is_tensor(image):
        return _opened_tensor(image)
    raise ValueError(f"a {type(image).__name__} is no picture: give {_KINDS}")


def open_mask(mask: Any) -> tuple[Floats, ...]:
    """(H, W) in [0, 1], 1 is shadow: one, or as many as a tensor (B, 1, H, W) holds.

    Integers are scaled by what they can hold, unless they are zeros and ones already.
    """
    if is_tensor(mask):
        values = mask.detach().cpu().float().numpy() if mask.is_floating_point() else mask.cpu().numpy()
        if values.ndim == 4 and values.shape[1] == 1:
            return tuple(_unit_mask(each[0]) for each in values)
        return (_unit_mask(values[0] if values.ndim == 3 and values.shape[0] == 1 else values),)
    if isinstance(mask, np.ndarray):
        return (_unit_mask(mask[..., 0] if mask.ndim == 3 and mask.shape[2] == 1 else mask),)
    if isinstance(mask, bytes | bytearray | memoryview):
        photo = read(bytes(mask), "the mask")
    elif isinstance(mask, str | Path):
        photo = read(Path(mask))
    elif isinstance(mask, Image.Image):
        photo = read_image(mask)
    else:
        raise ValueError(f"a {type(mask).__name__} is no mask: give {_KINDS}")
    if photo.codes.max() <= 1:
        level = photo.codes[..., 0].astype(np.float32)
    else:
        level = photo.pixels.mean(axis=2)
    if photo.alpha is not None:  # painted on nothing: what is clear is no shadow
        level = level * np.divide(photo.alpha, photo.top, dtype=np.float32)
    return (level,)


def is_tensor(image: object) -> bool:
    """Whether this is a torch tensor; torch is not loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(image, torch.Tensor)


def _composed(photo: Photo, change: Change | None) -> Photo:
    return photo if change is None else photo.composed(*change)


def _opened_bytes(data: bytes) -> Opened:
    photo = read(data)

    def finish(changes: Sequence[Change | None]) -> bytes:
        return data if changes[0] is None else photo.composed(*changes[0]).encode()

    return Opened((photo.pixels,), finish)


def _opened_image(image: Image.Image) -> Opened:
    photo = read_image(image)

    def finish(changes: Sequence[Change | None]) -> Image.Image:
        result = _composed(photo, changes[0]).to_pil()
        result.info = {**image.info, **result.info}
        if result.mode != image.mode:
            result.info.pop("transparency", None)  # it is in the alpha now
        return result

    return Opened((photo.pixels,), finish)


def _opened_array(array: NDArray[Any]) -> tuple[Floats, Callable[[Change | None], NDArray[Any]]]:
    """(H, W) or (H, W, 1 to 4): integers, or floats from 0 to 1."""
    _check_array(array)
    values = array[..., None] if array.ndim == 2 else array
    colours = 1 if values.shape[2] < 3 else 3
    if np.issubdtype(array.dtype, np.integer):
        depth = _depth(array)
        photo = Photo(values[..., :colours].astype(depth), None, "PNG")

        def finish(change: Change | None) -> NDArray[Any]:
            result = values.copy()
            result[..., :colours] = _composed(photo, change).codes
            return result.reshape(array.shape)

        return photo.pixels, finish
    profile = open_profile(b"", colours)
    own = values[..., :colours].astype(np.float32).reshape(-1, colours)
    seen = profile.to_srgb(own).clip(0, 1)

    def finish_floats(change: Change | None) -> NDArray[Any]:
        result = values.copy()
        if change is None:
            return result.reshape(array.shape)
        new, weight = change
        touched = weight.reshape(-1) > 0
        move = np.subtract(
            profile.from_srgb(new.reshape(-1, 3)[touched].clip(0, 1), own[touched]),
            profile.from_srgb(seen[touched], own[touched]),
        )
        flat = result.reshape(-1, values.shape[2])
        moved = flat[touched, :colours] + weight.reshape(-1)[touched, None] * move
        flat[touched, :colours] = moved.clip(0, 1)
        return result.reshape(array.shape)

    return seen.reshape(*values.shape[:2], 3), finish_floats


def _opened_tensor(tensor: "torch.Tensor") -> Opened:
    """(C, H, W) or (B, C, H, W), C from 1 to 4."""
    import torch

    if tensor.ndim not in (3, 4) or tensor.shape[-3] not in (1, 2, 3, 4):
        raise ValueError(f"a tensor must be (3, H, W) or (B, 3, H, W), not {tuple(tensor.shape)}")
    batch = tensor.detach() if tensor.ndim == 4 else tensor.detach()[None]
    wide = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    on_cpu = (batch.to(wide) if batch.is_floating_point() else batch).cpu().numpy()
    opened = [_opened_array(np.ascontiguousarray(each.transpose(1, 2, 0))) for each in on_cpu]

    def finish(changes: Sequence[Change | None]) -> "torch.Tensor":
        results = batch.clone()
        for index, ((_, close), change) in enumerate(zip(opened, changes, strict=True)):
            if change is None:
                continue
            new = torch.from_numpy(close(change).transpose(2, 0, 1).copy()).to(batch)
            touched = torch.from_numpy(change[1] > 0).to(batch.device)
            results[index] = torch.where(touched, new, batch[index])
        return results if tensor.ndim == 4 else results[0]

    return Opened(tuple(picture for picture, _ in opened), finish)


def _check_array(array: NDArray[Any]) -> None:
    shape = array.shape
    if array.ndim not in (2, 3) or (array.ndim == 3 and shape[2] not in (1, 2, 3, 4)):
        hint = ": move its channels last" if array.ndim == 3 and shape[0] in (1, 3, 4) else ""
        raise ValueError(f"an array must be (H, W, 3), or (H, W) if it is grey, not {shape}{hint}")
    if 0 in shape:
        raise ValueError(f"the array has no pixels: its shape is {shape}")
    if np.issubdtype(array.dtype, np.integer):
        if array.min() < 0 or array.max() > 65535:
            raise ValueError("integers must lie in 0 to 255, or in 0 to 65535 for 16 bits")
    elif np.issubdtype(array.dtype, np.floating):
        if not np.isfinite(array).all():
            raise ValueError("the array has values that are not finite numbers (NaN or infinity)")
        if array.min() < 0 or array.max() > 1:
            raise ValueError("floats must lie in 0 to 1: divide by 255, or clip them")
    else:
        raise ValueError(f"an array of {array.dtype} is no picture: give integers, or floats from 0 to 1")


def _depth(array: NDArray[Any]) -> type:
    """The depth of integers: what their type says, or the smaller one that holds them."""
    if array.dtype.itemsize <= 1 or (array.dtype != np.uint16 and array.max() <= 255):
        return np.uint8
    return np.uint16


def _unit_mask(mask: NDArray[Any]) -> Floats:
    """(H, W) of any numbers → [0, 1]."""
    if mask.ndim == 3 and mask.shape[2] in (3, 4):
        mask = (
            mask[..., :3].mean(axis=2)
            if np.issubdtype(mask.dtype, np.floating)
            else mask[..., :3].max(axis=2)
        )
    if mask.ndim != 2 or 0 in mask.shape:
        raise ValueError(f"a mask must be (H, W), not {mask.shape}")
    values = mask.astype(np.float32)
    if not np.isfinite(values).all() or values.min() < 0:
        raise ValueError("a mask must hold numbers from 0, no shadow, to 1, or to 255 if they are integers")
    if np.issubdtype(mask.dtype, np.floating):
        if values.max() > 1:
            raise ValueError("a mask of floats must lie in 0 to 1: divide by 255, or clip it")
        return values
    top = next((top for top in (1, 255, 65535) if values.max() <= top), float(values.max()))
    return values / np.float32(top)
