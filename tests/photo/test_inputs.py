"""Whatever type goes in comes out, and outside the mask it is the same bit for bit."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from deshadow.image.strips import Picture
from deshadow.photo import read_photo
from deshadow.photo.inputs import Change, OpenedImage, change_image, open_mask, open_picture
from deshadow.removal.remover import Remover

DTYPES: list[Any] = [np.uint8, np.uint16, np.int32, np.int64, np.float16, np.float32, np.float64]


def picture(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return rng.random(shape).astype(dtype)
    return rng.integers(0, 65535 if dtype == np.uint16 else 255, shape, endpoint=True).astype(dtype)


def change(
    opened: OpenedImage, seed: int = 0
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[np.ndarray]]:
    """A result for each picture, and where its weight is 0."""
    rng = np.random.default_rng(seed)
    changes = []
    for each in opened.pictures:
        weight = (rng.random(each.shape[:2]) * (rng.random(each.shape[:2]) > 0.5)).astype(np.float32)
        changes.append((rng.random(each.shape).astype(np.float32), weight))
    return changes, [weight == 0 for _, weight in changes]


@given(
    height=st.integers(1, 20),
    width=st.integers(1, 20),
    channels=st.sampled_from([0, 1, 2, 3, 4]),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 50),
)
@settings(max_examples=80, deadline=None)
def test_arrays_keep_shape_type_and_all_that_is_outside(
    height: int, width: int, channels: int, dtype: Any, seed: int
) -> None:
    array = picture((height, width, channels) if channels else (height, width), dtype, seed)
    before = array.copy()
    opened = open_picture(array)
    assert opened.pictures[0].shape == (height, width, 3)
    assert np.asarray(opened.pictures[0]).dtype == np.float32
    changes, (outside,) = change(opened, seed)
    result = opened.finish(changes)
    assert (result.shape, result.dtype) == (array.shape, array.dtype)
    assert np.array_equal(result[outside], array[outside])
    if channels in (2, 4):
        assert np.array_equal(result[..., -1], array[..., -1])
    assert np.array_equal(opened.finish([None]), array)
    assert np.array_equal(array, before)


@given(
    batch=st.sampled_from([0, 1, 2]),
    channels=st.sampled_from([1, 3, 4]),
    dtype=st.sampled_from([torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64]),
    seed=st.integers(0, 20),
)
@settings(max_examples=40, deadline=None)
def test_tensors_keep_shape_type_and_all_that_is_outside(
    batch: int, channels: int, dtype: torch.dtype, seed: int
) -> None:
    shape = (batch, channels, 7, 9) if batch else (channels, 7, 9)
    generator = torch.Generator().manual_seed(seed)
    tensor = (torch.rand(shape, generator=generator) * (255 if dtype == torch.uint8 else 1)).to(dtype)
    opened = open_picture(tensor)
    assert len(opened.pictures) == max(1, batch)
    changes, outside = change(opened, seed)
    result = opened.finish(changes)
    assert (result.shape, result.dtype, result.device) == (tensor.shape, tensor.dtype, tensor.device)
    for new, old, where in zip(
        result.reshape(-1, channels, 7, 9), tensor.reshape(-1, channels, 7, 9), outside, strict=True
    ):
        still = torch.from_numpy(where)
        assert torch.equal(new[:, still], old[:, still])
    assert torch.equal(opened.finish([None] * len(opened.pictures)), tensor)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_result_is_what_was_asked_for_inside(dtype: Any) -> None:
    array = picture((6, 8, 3), dtype)
    opened = open_picture(array)
    wanted = np.full((6, 8, 3), 0.5, np.float32)
    result = opened.finish([(wanted, np.ones((6, 8), np.float32))])
    again = np.asarray(open_picture(result).pictures[0])
    assert np.abs(again - wanted).max() < 0.003


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "CMYK", "I;16"])
def test_pictures_of_pillow_keep_their_mode(mode: str) -> None:
    if mode == "I;16":
        image = Image.fromarray(picture((9, 7), np.uint16))
    else:
        image = Image.fromarray(picture((9, 7, 4), np.uint8), mode="RGBA").convert(mode)
    opened = open_picture(image)
    changes, (outside,) = change(opened)
    result = opened.finish(changes)
    assert (result.mode, result.size) == (image.mode, image.size)
    assert np.array_equal(np.asarray(result)[outside], np.asarray(image)[outside])
    assert not np.array_equal(np.asarray(result), np.asarray(image))


def test_a_turned_picture_of_pillow_comes_back_upright() -> None:
    image = Image.fromarray(picture((9, 7, 3), np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, "PNG", exif=exif)
    opened = open_picture(Image.open(buffer))
    assert opened.pictures[0].shape == (7, 9, 3)
    result = opened.finish([None])
    assert result.size == (9, 7)
    assert result.getexif()[0x0112] == 1


def test_bytes_give_bytes_and_a_path_a_picture_of_pillow(tmp_path: Path) -> None:
    array = picture((9, 7, 3), np.uint8)
    path = tmp_path / "photo.png"
    Image.fromarray(array).save(path)
    data = path.read_bytes()
    for source in (data, str(path), path):
        opened = open_picture(source)
        changes, (outside,) = change(opened)
        result = opened.finish(changes)
        assert isinstance(result, bytes) == isinstance(source, bytes)
        found = read_photo(result).codes if isinstance(result, bytes) else np.asarray(result)
        assert np.array_equal(found[outside], array[outside])
    assert open_picture(data).finish([None]) == data


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "cannot be a picture|picture cannot be"),
        (np.zeros((3, 8, 9), np.uint8), "channels last"),
        (np.zeros((8, 9, 3, 1), np.uint8), "must be"),
        (np.zeros((0, 9, 3), np.uint8), "no pixels"),
        (np.full((8, 9, 3), 200.0), "divide them by 255"),
        (np.full((8, 9, 3), np.nan), "not finite"),
        (np.full((8, 9, 3), -1), "0 to 255"),
        (np.zeros((8, 9, 3), np.int8), "int8 cannot hold white, 255"),
        (np.full((8, 9, 3), 30_000, np.int16), "int16 cannot hold white, 65535"),
        (np.zeros((8, 9, 3), bool), "cannot be a picture|picture cannot be"),
        (Image.new("F", (4, 4)), "RGB or grey"),
        (Image.new("RGB", (0, 4)), "no pixels"),
        (torch.zeros(8, 9), "must be"),
        (b"text", "is not a photo"),
    ],
)
def test_what_is_no_picture_is_one_sentence(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        open_picture(wrong)
    assert "\n" not in str(caught.value)


def test_masks_of_every_kind_hold_what_they_held(tmp_path: Path) -> None:
    bits = np.zeros((6, 8), np.uint8)
    bits[2:4, 3:7] = 255
    path = tmp_path / "mask.png"
    Image.fromarray(bits).save(path)
    kinds: list[Any] = [bits, bits[..., None], path, str(path), path.read_bytes(), Image.open(path)]
    kinds += [torch.from_numpy(bits), torch.from_numpy(bits)[None], torch.from_numpy(bits)[None, None]]
    for kind in kinds:
        (found,) = open_mask(kind)
        assert np.array_equal(found.reshape(6, 8), bits), kind
    painted = np.dstack([np.full((6, 8, 3), 255, np.uint8), bits])
    assert np.array_equal(open_mask(Image.fromarray(painted))[0], painted)
    assert len(open_mask(torch.zeros(3, 1, 6, 8))) == 3
    with pytest.raises(ValueError, match="a mask cannot be"):
        open_mask(3)


def test_each_picture_of_a_batch_meets_its_own_mask() -> None:
    pictures = torch.rand(2, 3, 5, 6, generator=torch.Generator().manual_seed(0))
    masks = torch.zeros(2, 1, 5, 6)
    masks[1] = 1

    def white(pixels: Picture, mask: np.ndarray | None) -> Change | None:
        assert mask is not None
        return (
            (np.ones(pixels.shape, np.float32), mask.reshape(5, 6).astype(np.float32)) if mask.any() else None
        )

    result = change_image(pictures, masks, white)
    assert torch.equal(result[0], pictures[0])
    assert torch.equal(result[1], torch.ones(3, 5, 6))
    assert (change_image(pictures, masks[1:], white) == 1).all()
    assert torch.equal(change_image(pictures, masks[:, 0], white), result)
    with pytest.raises(ValueError, match="masks for"):
        change_image(pictures[:1], masks, white)


@pytest.mark.parametrize(
    "kind", ["uint8", "uint16", "float32", "float64", "tensor", "image", "bytes", "path"]
)
def test_the_remover_gives_back_what_it_was_given(kind: str, exported: Path, tmp_path: Path) -> None:
    codes = picture((48, 64, 3), np.uint8)
    mask = np.zeros((48, 64), np.uint8)
    mask[:, :12] = 255
    path = tmp_path / "photo.png"
    Image.fromarray(codes).save(path)
    images: dict[str, Any] = {
        "uint8": codes,
        "uint16": codes.astype(np.uint16) * 257,
        "float32": (codes / 255).astype(np.float32),
        "float64": codes / 255,
        "tensor": torch.from_numpy(codes / 255).permute(2, 0, 1),
        "image": Image.fromarray(codes),
        "bytes": path.read_bytes(),
        "path": path,
    }
    remover = Remover(exported)
    one, two = (remover.remove(images[kind], mask, seed=3) for _ in range(2))
    assert isinstance(one, Image.Image if kind == "path" else type(images[kind]))
    results, before = (
        [np.asarray(open_picture(each).pictures[0]) for each in (one, two)],
        np.asarray(open_picture(images[kind]).pictures[0]),
    )
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0][:, 40:], before[:, 40:])
    assert not np.array_equal(results[0][:, :12], before[:, :12])


def test_torch_is_not_loaded_for_an_array() -> None:
    code = """
import sys, numpy as np
from deshadow.photo.inputs import open_mask, open_picture
open_picture(np.zeros((4, 4, 3), np.uint8)); open_mask(np.zeros((4, 4)))
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
