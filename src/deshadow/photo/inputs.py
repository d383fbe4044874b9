"""Pictures of any type that the library takes: bytes, a path, a Pillow image, an array or a tensor.

The result has the type of the input; for a path it is a Pillow image. Where nothing is removed, the pixels of
the result equal those of the input bit for bit.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deshadow.image.strips import Picture
from deshadow.photo import Photo, encode_photo, read_image, read_photo, to_pil
from deshadow.photo.profile import open_profile

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
Change = tuple[Picture, Floats]
"""A result (H, W, 3), sRGB in [0, 1], and its weight (H, W), 0 where the picture does not change."""

_KINDS = "a path, bytes, a Pillow image, a numpy array or a torch tensor"


@dataclass(frozen=True, slots=True)
class OpenedImage:
    """A picture of any type, or a batch of pictures."""

    pictures: tuple[Picture, ...]
    """Each (H, W, 3), sRGB in [0, 1], as displayed."""
    finish: Callable[[Sequence[Change | None]], Any]
    """Applies one change to each picture (None changes nothing), and returns the type that was opened."""


def open_picture(image: Any) -> OpenedImage:
    """Open a picture of any type; ValueError says what is wrong with it."""
    if isinstance(image, bytes | bytearray | memoryview):
        return _open_bytes(bytes(image))
    if isinstance(image, str | Path):
        photo = read_photo(Path(image))
        return OpenedImage((photo.picture,), lambda changes: to_pil(_composite(photo, changes[0])))
    if isinstance(image, Image.Image):
        return _open_image(image)
    if isinstance(image, np.ndarray):
        picture, finish = _open_array(image)
        return OpenedImage((picture,), lambda changes: finish(changes[0]))
    if is_tensor(image):
        return _open_tensor(image)
    raise ValueError(f"a picture cannot be a {type(image).__name__}: give {_KINDS}")


def open_mask(mask: Any, pictures: int = 1, name: str = "the mask") -> tuple[NDArray[Any], ...]:
    """The arrays (h, w) or (h, w, C) of a mask of any type: one, or one for each of so many pictures.

    Several masks are a tensor (B, 1, H, W), or (B, H, W) where B is the number of pictures.
    `name` is the name of bytes in messages.
    """
    if is_tensor(mask):
        values = mask.detach().cpu()
        values = (values.float() if values.is_floating_point() else values).numpy()
        is_batch = values.ndim == 4 or (values.ndim == 3 and 1 < pictures == len(values))
        batch = values if is_batch else values[None]
        return tuple(each.transpose(1, 2, 0) if each.ndim == 3 else each for each in batch)
    if isinstance(mask, np.ndarray):
        return (mask,)
    if isinstance(mask, bytes | bytearray | memoryview):
        photo = read_photo(bytes(mask), name)
    elif isinstance(mask, str | Path):
        photo = read_photo(Path(mask))
    elif isinstance(mask, Image.Image):
        photo = read_image(mask)
    else:
        raise ValueError(f"a mask cannot be a {type(mask).__name__}: give {_KINDS}")
    codes = photo.codes if photo.codes.shape[2] < 4 else photo.pixels
    return (codes if photo.alpha is None else np.concatenate([codes, photo.alpha[..., None]], axis=2),)


def change_image(
    image: Any, mask: Any, change: Callable[[Picture, NDArray[Any] | None], Change | None]
) -> Any:
    """The image after `change` was called with each of its pictures and their masks; of the same type."""
    opened = open_picture(image)
    masks: Sequence[NDArray[Any] | None] = [None] if mask is None else open_mask(mask, len(opened.pictures))
    if len(masks) not in (1, len(opened.pictures)):
        raise ValueError(
            f"{len(masks)} masks for {len(opened.pictures)} pictures: give one mask, or one for each"
        )
    pairs = zip(opened.pictures, list(masks) * (len(opened.pictures) // len(masks)), strict=True)
    return opened.finish([change(picture, each) for picture, each in pairs])


def is_tensor(image: object) -> bool:
    """Whether this is a torch tensor; torch is not loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(image, torch.Tensor)


def _composite(photo: Photo, change: Change | None) -> Photo:
    return photo if change is None else photo.composite(*change)


def _open_bytes(data: bytes) -> OpenedImage:
    photo = read_photo(data)

    def finish(changes: Sequence[Change | None]) -> bytes:
        return data if changes[0] is None else encode_photo(photo.composite(*changes[0]))

    return OpenedImage((photo.picture,), finish)


def _open_image(image: Image.Image) -> OpenedImage:
    photo = read_image(image)

    def finish(changes: Sequence[Change | None]) -> Image.Image:
        result = to_pil(_composite(photo, changes[0]))
        result.info = {**image.info, **result.info}
        if result.mode != image.mode:
            result.info.pop("transparency", None)  # it is in the alpha now
        return result

    return OpenedImage((photo.picture,), finish)


def _open_array(array: NDArray[Any]) -> tuple[Picture, Callable[[Change | None], NDArray[Any]]]:
    """(H, W) or (H, W, 1 to 4): integers, or floats from 0 to 1."""
    _check_array(array)
    values = array[..., None] if array.ndim == 2 else array
    colours = 1 if values.shape[2] < 3 else 3
    if np.issubdtype(array.dtype, np.integer):
        depth = _depth(array)
        photo = Photo(values[..., :colours].astype(depth), None, "PNG")

        def finish(change: Change | None) -> NDArray[Any]:
            result = values.copy()
            result[..., :colours] = _composite(photo, change).codes
            return result.reshape(array.shape)

        return photo.picture, finish
    profile = open_profile(b"", colours)
    own = values[..., :colours].astype(np.float32).reshape(-1, colours)
    seen = profile.to_srgb(own).clip(0, 1)

    def finish_floats(change: Change | None) -> NDArray[Any]:
        result = values.copy()
        if change is None:
            return result.reshape(array.shape)
        new, weight = np.asarray(change[0], np.float32), change[1]
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


def _open_tensor(tensor: "torch.Tensor") -> OpenedImage:
    """(C, H, W) or (B, C, H, W), C from 1 to 4."""
    import torch

    if tensor.ndim not in (3, 4) or tensor.shape[-3] not in (1, 2, 3, 4):
        raise ValueError(f"a tensor must be (3, H, W) or (B, 3, H, W), not {tuple(tensor.shape)}")
    batch = tensor.detach() if tensor.ndim == 4 else tensor.detach()[None]
    wide = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    on_cpu = (batch.to(wide) if batch.is_floating_point() else batch).cpu().numpy()
    opened = [_open_array(np.ascontiguousarray(each.transpose(1, 2, 0))) for each in on_cpu]

    def finish(changes: Sequence[Change | None]) -> "torch.Tensor":
        results = batch.clone()
        for index, ((_, close), change) in enumerate(zip(opened, changes, strict=True)):
            if change is None:
                continue
            new = torch.from_numpy(close(change).transpose(2, 0, 1).copy()).to(batch)
            touched = torch.from_numpy(change[1] > 0).to(batch.device)
            results[index] = torch.where(touched, new, batch[index])
        return results if tensor.ndim == 4 else results[0]

    return OpenedImage(tuple(picture for picture, _ in opened), finish)


def _check_array(array: NDArray[Any]) -> None:
    shape = array.shape
    if array.ndim not in (2, 3) or (array.ndim == 3 and shape[2] not in (1, 2, 3, 4)):
        hint = ": move its channels last" if array.ndim == 3 and shape[0] in (1, 3, 4) else ""
        raise ValueError(f"an array must be (H, W, 3), or (H, W) if it is grey, not {shape}{hint}")
    if 0 in shape:
        raise ValueError(f"the array has no pixels: its shape is {shape}")
    if np.issubdtype(array.dtype, np.integer):
        if array.min() < 0 or array.max() > 65535:
            raise ValueError("integers must be from 0 to 255, or to 65535 for 16 bits")
    elif np.issubdtype(array.dtype, np.floating):
        if not np.isfinite(array).all():
            raise ValueError("the array has values that are not finite numbers (NaN or infinity)")
        if array.min() < 0 or array.max() > 1:
            raise ValueError("floats must be from 0 to 1: divide them by 255, or clip them")
    else:
        raise ValueError(
            f"an array of {array.dtype} cannot be a picture: give integers, or floats from 0 to 1"
        )


def _depth(array: NDArray[Any]) -> type:
    """The bit depth of integers: that of their type, or 8 bits if they fit."""
    small = array.dtype.itemsize <= 1 or (array.dtype != np.uint16 and array.max() <= 255)
    depth = np.uint8 if small else np.uint16
    if np.iinfo(array.dtype).max < np.iinfo(depth).max:
        raise ValueError(
            f"{array.dtype} cannot hold white, {np.iinfo(depth).max}: convert the array to {np.dtype(depth)}"
        )
    return depth
