"""The weights that ship: they remove a shadow on both runtimes, find it, and are refused if damaged."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from random_models import random_model
from skimage import data
from skimage.filters import gaussian

import deshadow
from deshadow.data.synth.procedural import draw_backgrounds, draw_occluders
from deshadow.data.synth.triplets import synthesise
from deshadow.diffusion.sampling import sample
from deshadow.image.colour import decode_srgb, linear_to_srgb, round_to_8_bits, srgb_to_lab
from deshadow.image.morphology import dilate
from deshadow.nn.config import PRESETS
from deshadow.runtime import checkpoint
from deshadow.runtime.backend import Backend, condition
from deshadow.runtime.onnx_backend import OnnxBackend
from deshadow.runtime.open import open_detector
from deshadow.runtime.torch_backend import TorchBackend

MIB = 2**20


@cache
def scene() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Picture, mask of 0 and 255, clean picture, 256 × 256: a drawn shadow on a drawn surface."""
    made = synthesise(draw_backgrounds(7, seed=5, dark_things=0.0), draw_occluders(2), torch.tensor([1]))
    picture, clean = (view[0].permute(1, 2, 0).numpy() for view in (made.picture, made.clean))
    return picture, np.where(made.mask[0, 0].numpy(), np.uint8(255), np.uint8(0)), clean


def error(result: np.ndarray) -> float:
    """Mean absolute LAB difference to the clean picture in the shadow."""
    _, mask, clean = scene()
    return float(np.abs(srgb_to_lab(result) - srgb_to_lab(clean)).sum(axis=-1)[mask > 0].mean())


def removed(backend: Backend) -> np.ndarray:
    """What a backend makes of the scene in one step."""
    picture, mask, _ = scene()
    shadow = picture.transpose(2, 0, 1)[None] / np.float32(127.5) - 1
    noise = np.random.default_rng(0).standard_normal(shadow.shape).astype(np.float32)
    hole = dilate(mask, 10)[None, None] / np.float32(255)
    clean = sample(condition(backend, shadow, hole), noise, backend.config.schedule, steps=1)
    pixels: np.ndarray = ((clean[0].transpose(1, 2, 0) + 1) * 127.5).round().clip(0, 255).astype(np.uint8)
    return pixels


@pytest.mark.parametrize("runtime", [OnnxBackend, lambda name: TorchBackend(checkpoint.load_remover(name))])
def test_the_shipped_remover_takes_three_quarters_of_a_shadow_away(runtime: Callable[[str], Backend]) -> None:
    picture = scene()[0]
    assert error(picture) > 10
    assert error(removed(runtime("light"))) < error(picture) / 4


def shade(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Picture, mask, clean picture: a photo of scikit-image with a soft round shadow in its middle."""
    photo = getattr(data, name)()
    clean = photo if photo.ndim == 3 else np.stack(3 * [photo], axis=-1)
    rows, columns = np.ogrid[: clean.shape[0], : clean.shape[1]]
    mask = (rows / clean.shape[0] - 0.5) ** 2 + (columns / clean.shape[1] - 0.5) ** 2 < 0.06
    share = 1 - gaussian(mask.astype(float), 2)[..., None] * (1 - np.array([0.28, 0.32, 0.38]))
    return round_to_8_bits(linear_to_srgb(decode_srgb(clean) * share)), mask, clean


@pytest.mark.parametrize("mode", ["quick", "removal"])
@pytest.mark.parametrize("name", ["brick", "coffee", "gravel"])
def test_a_photo_keeps_its_colour_where_a_shadow_was(name: str, mode: str) -> None:
    picture, mask, clean = shade(name)
    result = deshadow.remove(picture, mask, mode=mode)
    means = [srgb_to_lab(picture)[mask].mean(axis=0) for picture in (result, clean)]
    assert np.linalg.norm(means[0] - means[1]) < 3


def test_random_weights_do_not() -> None:
    assert error(removed(TorchBackend(random_model(PRESETS["light"])))) > error(scene()[0]) / 4


@pytest.mark.parametrize("name", ["brick", "chelsea", "grass", "gravel"])
def test_the_shipped_detector_finds_the_shadow(name: str) -> None:
    picture, mask, clean = shade(name)
    detector = open_detector("detector")
    found, none = (
        detector(view.transpose(2, 0, 1)[None] / np.float32(127.5) - 1)[0, 0] > 0.5
        for view in (picture, clean)
    )
    assert (found & mask).sum() / (found | mask).sum() > 0.8
    assert none.mean() < 0.01


@pytest.mark.parametrize("name", ["light", "detector"])
def test_damaged_weights_are_refused(name: str, tmp_path: Path) -> None:
    whole = checkpoint.locate(name)
    for file in whole.parent.glob(f"{name}.*"):
        shutil.copy(file, tmp_path)
    damaged = tmp_path / whole.name
    content = bytearray(damaged.read_bytes())
    content[-1000] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        checkpoint.read_checkpoint(damaged)
    with pytest.raises(ValueError, match="damaged"):
        open_detector(damaged) if name == "detector" else OnnxBackend(damaged)


def test_all_that_ships_stays_under_26_mib() -> None:
    assert sum(file.stat().st_size for file in checkpoint.SHIPPED.iterdir()) < 26 * MIB
