from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_models import random_model
from scenes import scene, write_scenes, write_triplet

from deshadow.data.pairs.find import find
from deshadow.evaluation.build import build_methods
from deshadow.evaluation.methods import Method, load_input
from deshadow.evaluation.models import Sampling, make_batch_remover, make_network_remover
from deshadow.evaluation.options import Comparison
from deshadow.evaluation.protocol import evaluate_method
from deshadow.nn.config import ModelConfig, UNetShape, make_unconditional
from deshadow.runtime.torch_backend import TorchBackend

COARSE = UNetShape(base=8, multipliers=(1, 1, 1, 1), blocks=1, head_channels=8, fold=2)
"""Fast, since its attention is at a sixteenth of the size."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("models", "protocol"):
        monkeypatch.setattr(f"deshadow.evaluation.{module}.BATCH", 3)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder)
    return folder


def in_batches(seed: int = 0) -> tuple[Method, Method]:
    """A model that takes one picture at a time, and the same in batches."""
    backend = TorchBackend(random_model(ModelConfig(COARSE, COARSE)))
    one = Method("one", make_network_remover(backend, Sampling(1, seed=seed)))
    return one, replace(one, name="batches", remove_batch=make_batch_remover(backend, Sampling(1, seed=seed)))


def test_a_batch_gives_what_its_pictures_give_alone_and_in_any_company(scenes: Path) -> None:
    one, batches = in_batches()
    assert batches.remove_batch is not None
    inputs = [load_input(sample) for sample in find(scenes).samples[:2]]
    together = batches.remove_batch(inputs)
    for given, result in zip(inputs, together, strict=True):
        assert np.abs(one.remove(given).astype(int) - result).max() <= 1
        (alone,) = batches.remove_batch([given])
        # Threads that divide the work otherwise may round a value to the neighbouring level.
        assert np.abs(alone.astype(int) - result).max() <= 1


def test_repaint_gives_each_picture_of_a_batch_random_numbers_of_its_own(scenes: Path) -> None:
    backend = TorchBackend(random_model(make_unconditional(ModelConfig(COARSE, COARSE))))
    sampling = Sampling(3, jump=1, resamplings=2)
    one, batches = make_network_remover(backend, sampling), make_batch_remover(backend, sampling)
    inputs = [load_input(sample) for sample in find(scenes).samples[:2]]
    together = batches(inputs)
    for given, result in zip(inputs, together, strict=True):
        assert np.abs(one(given).astype(int) - result).max() <= 1
    (again,) = batches([inputs[1]])
    assert np.abs(again.astype(int) - together[1]).max() <= 1


def test_every_picture_of_a_set_is_scored_once(scenes: Path) -> None:
    samples = find(scenes).samples
    one, batches = (evaluate_method(method, samples, workers=2) for method in in_batches())
    assert [each.name for each in one.pictures] == [each.name for each in batches.pictures]
    for alone, together in zip(one.pictures, batches.pictures, strict=True):
        error, other = (each.small.regions["all"].lab_mae for each in (alone, together))
        assert error == pytest.approx(other, abs=0.01)


def test_a_file_that_cannot_be_read_leaves_the_rest_of_its_batch(tmp_path: Path) -> None:
    write_scenes(tmp_path, 2)
    write_triplet(tmp_path, "damaged", *scene(seed=2))
    damaged = tmp_path / "shadow/damaged.png"
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    damaged.write_bytes(bytes(data))
    found = evaluate_method(in_batches()[1], find(tmp_path).samples)
    assert [each.name for each in found.pictures] == ["photo0", "photo1"]
    assert [problem.file for problem in found.problems] == ["damaged"]


def test_on_the_processor_pictures_go_one_by_one() -> None:
    (method,) = build_methods(Comparison(device="cpu"))
    assert method.remove_batch is None
