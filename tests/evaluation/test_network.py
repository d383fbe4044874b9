from dataclasses import replace

import numpy as np
import pytest
from random_models import random_model
from scenes import give, scene

from deshadow.diffusion.arrays import Array
from deshadow.evaluation.models import Sampling, make_network_remover
from deshadow.image.morphology import dilate
from deshadow.image.resize import bicubic, nearest
from deshadow.nn.config import ModelConfig, find_preset, make_palette, make_unconditional
from deshadow.runtime.torch_backend import TorchBackend


class Spy:
    """A backend that predicts nothing, and remembers what it was given."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.device = "cpu"
        self.seen: list[tuple[np.ndarray, ...]] = []

    def to_device(self, array: Array) -> Array:
        return array

    def encode(self, picture: Array, mask: Array) -> Array | None:
        return None

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        self.seen.append((np.array(noisy), np.array(picture), np.array(mask)))
        return 0 * noisy


NO_ENCODER = replace(find_preset("tiny"), guidance="none", fusion="none", predicts="correction")


def test_the_network_gets_the_picture_at_256_and_the_mask_dilated_by_21() -> None:
    picture, mask, _ = scene(120, 200)
    spy = Spy(NO_ENCODER)
    result = make_network_remover(spy, Sampling(2))(give(picture, mask))
    small = bicubic(picture, 256, 256)
    assert len(spy.seen) == 2
    _, seen, seen_mask = spy.seen[0]
    np.testing.assert_allclose(seen[0].transpose(1, 2, 0), small / 127.5 - 1, atol=1e-6)
    np.testing.assert_array_equal(seen_mask[0, 0] * 255, dilate(nearest(mask, 256, 256), 10))
    # No correction to the picture is the picture, to the last level.
    np.testing.assert_array_equal(result, small)


def test_the_mask_does_not_grow_into_another_shadow() -> None:
    picture, mask, _ = scene(256, 256)
    dilated = dilate(mask, 10) > 0
    protected = (mask == 0) & (np.arange(256) > 100)
    assert (dilated & protected).any()
    spy = Spy(NO_ENCODER)
    make_network_remover(spy, Sampling(1))(give(picture, mask, protected=protected))
    np.testing.assert_array_equal(spy.seen[0][2][0, 0] > 0, dilated & ~protected)
    make_network_remover(spy, Sampling(1))(give(picture, mask, protected=np.ones(mask.shape, bool)))
    np.testing.assert_array_equal(spy.seen[1][2][0, 0] > 0, mask > 0)  # its own pixels it keeps


def test_the_noise_belongs_to_the_seed_and_the_picture_s_name() -> None:
    picture, mask, _ = scene()
    spy = Spy(NO_ENCODER)
    for seed, name in ((0, "a"), (0, "b"), (1, "a"), (0, "a")):
        make_network_remover(spy, Sampling(1, seed=seed))(give(picture, mask, name))
    first, other_name, other_seed, again = (noisy for noisy, *_ in spy.seen)
    assert abs(first.mean()) < 0.01
    assert first.std() == pytest.approx(1, abs=0.01)
    assert (first == again).all()
    assert (first != other_name).any()
    assert (first != other_seed).any()


def test_palette_never_looks_at_the_mask() -> None:
    picture, mask, _ = scene()
    remove = make_network_remover(TorchBackend(random_model(make_palette(find_preset("tiny")))), Sampling(1))
    np.testing.assert_array_equal(remove(give(picture, mask)), remove(give(picture, 255 - mask)))


def test_repaint_keeps_the_picture_outside_the_dilated_mask_and_makes_anew_what_is_inside() -> None:
    picture, mask, _ = scene()
    spy = Spy(make_unconditional(find_preset("tiny")))
    result = make_network_remover(spy, Sampling(6, jump=2, resamplings=3))(give(picture, mask))
    hole = dilate(nearest(mask, 256, 256), 10) > 0
    small = bicubic(picture, 256, 256)
    np.testing.assert_array_equal(result[~hole], small[~hole])
    assert np.abs(result[hole].astype(int) - small[hole]).mean() > 20
    assert len(spy.seen) == 6 + 2 * 2 * 2  # two stretches of two steps, gone twice more
