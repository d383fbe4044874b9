import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from random_models import random_model
from scenes import scene, write_scenes, write_triplet

from deshadow.data.pairs.find import find
from deshadow.evaluation.build import build_methods
from deshadow.evaluation.methods import load_input
from deshadow.evaluation.models import Latents, choose_other_scenes, make_network_input
from deshadow.evaluation.options import Comparison, LatentKind, Outputs
from deshadow.evaluation.run import run
from deshadow.nn.config import ModelConfig, UNetShape
from deshadow.runtime.backend import Backend
from deshadow.runtime.checkpoint import save_model
from deshadow.runtime.open import open_backend

COARSE = UNetShape(base=8, multipliers=(1, 1, 1, 1), blocks=1, head_channels=8, fold=2)
"""Fast, since its attention is at a sixteenth of the size."""


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_model(path, random_model(ModelConfig(COARSE, COARSE, guidance="latent")))
    return path


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder)
    return folder


def encode(backend: Backend, folder: Path) -> list[np.ndarray]:
    """The latent of every picture of a set."""
    return [
        np.asarray(backend.encode(*make_network_input(load_input(each)))) for each in find(folder).samples
    ]


def test_the_latent_is_that_of_another_scene_the_mean_or_zero(weights: Path, scenes: Path) -> None:
    backend, samples = open_backend(weights, "cpu"), find(scenes).samples
    own = encode(backend, scenes)
    expected = {"other": own[2], "mean": np.mean(own, axis=0), "zero": 0 * own[0]}
    for kind in get_args(LatentKind):
        latents = Latents(backend, kind)
        latents.prepare(samples, load_input)
        latent = latents.replace("/photo0")
        if kind == "own":
            assert latent is None
        else:
            assert latent is not None
            np.testing.assert_allclose(latent, expected[kind], atol=1e-5)


def test_every_latent_gives_another_result_and_the_record_says_which(
    weights: Path, scenes: Path, tmp_path: Path
) -> None:
    errors, notes = set(), []
    for kind in get_args(LatentKind):
        path = tmp_path / f"{kind}.json"
        run(
            scenes, Comparison(weights=[str(weights)], latent=kind, device="cpu"), Outputs(json=path), limit=2
        )
        found = json.loads(path.read_text())
        assert found["latent"] == kind
        errors.add(found["regions"]["all"]["lab_mae"])
        notes.append(found["note"])
    assert len(errors) == len(set(notes)) == 4
    assert notes[1].endswith("latent of another scene")


def test_another_scene_is_never_the_same_one(tmp_path: Path) -> None:
    # ISTD's names: scene 1 has three pictures, scene 2 one, so that half the set away may be the same scene.
    for name, seed in (("1-1", 0), ("1-2", 1), ("1-3", 2), ("2-1", 3)):
        write_triplet(tmp_path / "set", name, *scene(seed=seed))
    samples = find(tmp_path / "set").samples
    for sample, other in zip(samples, choose_other_scenes(samples), strict=True):
        assert sample.scene != other.scene
    with pytest.raises(ValueError, match="at least two scenes"):
        choose_other_scenes(samples[:3])


def test_a_latent_needs_a_model_that_has_one_and_the_network_mode(weights: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs --mode network"):
        build_methods(Comparison(weights=[str(weights)], latent="zero", mode="quick"))
    save_model(tmp_path / "none.safetensors", random_model(ModelConfig(COARSE, COARSE, guidance="none")))
    with pytest.raises(ValueError, match="none has no latent"):
        build_methods(Comparison(weights=[str(tmp_path / "none.safetensors")], latent="zero"))


def test_the_sampler_can_be_chosen(weights: Path, scenes: Path) -> None:
    ddim, dpm = (
        run(scenes, Comparison(weights=[str(weights)], steps=["4"], sampler=sampler, device="cpu"), limit=1)[
            0
        ]
        for sampler in ("ddim", "dpm")
    )
    assert ddim.method.note == "correction prediction, 4 steps"
    assert dpm.method.note == "correction prediction, 4 steps, dpm"
    assert ddim.pictures[0].small != dpm.pictures[0].small
