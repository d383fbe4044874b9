"""`deshadow evaluate --anchor` and `--start`."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from random_models import random_model
from scenes import give, scene, write_scenes

from deshadow.data.pairs.find import find
from deshadow.diffusion.choices import AnchorKind, Sampler
from deshadow.evaluation.build import build_methods
from deshadow.evaluation.methods import load_input
from deshadow.evaluation.models import Sampling, make_batch_remover, make_network_remover
from deshadow.evaluation.options import Comparison, Outputs
from deshadow.evaluation.run import run
from deshadow.image.morphology import dilate
from deshadow.image.resize import bicubic, nearest
from deshadow.nn.config import ModelConfig, UNetShape, make_unconditional
from deshadow.runtime.checkpoint import save_model
from deshadow.runtime.torch_backend import TorchBackend

COARSE = UNetShape(base=8, multipliers=(1, 1, 1, 1), blocks=1, head_channels=8, fold=2)
"""Fast, since its attention is at a sixteenth of the size."""
NOISE = ModelConfig(COARSE, COARSE, predicts="noise")


@pytest.fixture(scope="module")
def backend() -> TorchBackend:
    return TorchBackend(random_model(NOISE))


@pytest.mark.parametrize("sampler", get_args(Sampler))
def test_outside_the_dilated_mask_the_result_is_the_photo_to_the_last_level(
    backend: TorchBackend, sampler: Sampler
) -> None:
    picture, mask, _ = scene()
    hole = dilate(nearest(mask, 256, 256), 10) > 0
    small = bicubic(picture, 256, 256)
    results = {
        kind: make_network_remover(backend, Sampling(3, sampler, anchor=kind))(give(picture, mask))
        for kind in get_args(AnchorKind)
    }
    np.testing.assert_array_equal(results["lit"][~hole], small[~hole])
    assert (results["lit"][hole] != results["none"][hole]).any()
    drift = {kind: np.abs((each[~hole] - small[~hole].astype(int)).mean()) for kind, each in results.items()}
    assert drift["mean"] < drift["none"] / 2


def test_the_lit_pixels_of_a_batch_are_those_of_its_pictures_alone(
    backend: TorchBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deshadow.evaluation.models.BATCH", 3)
    write_scenes(tmp_path, 2)
    inputs = [load_input(sample) for sample in find(tmp_path).samples]
    sampling = Sampling(2, anchor="lit", start=700)
    together = make_batch_remover(backend, sampling)(inputs)
    for given, result in zip(inputs, together, strict=True):
        alone = make_network_remover(backend, sampling)(given)
        assert np.abs(alone.astype(int) - result).max() <= 1


def test_a_start_near_zero_leaves_the_photo_nearly_as_it_is(backend: TorchBackend) -> None:
    picture, mask, _ = scene()
    small = bicubic(picture, 256, 256).astype(int)
    late, early = (
        np.abs(make_network_remover(backend, Sampling(2, start=start))(give(picture, mask)) - small).mean()
        for start in (4, 1000)
    )
    assert late < 5 < 30 < early


def test_the_record_and_the_table_say_how_it_was_sampled(tmp_path: Path) -> None:
    write_scenes(tmp_path / "set", 1)
    save_model(tmp_path / "small.safetensors", random_model(NOISE))
    comparison = Comparison(
        weights=[str(tmp_path / "small.safetensors")],
        steps=["2"],
        sampler="dpm",
        anchor="lit",
        start=900,
        device="cpu",
    )
    run(tmp_path / "set", comparison, Outputs(json=tmp_path / "found.json"))
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["anchor"], found["start"]) == ("lit", 900)
    assert found["note"] == "noise prediction, 2 steps, dpm from t = 900, lit pixels kept"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anchor": "lit", "mode": "quick"}, "--anchor lit needs --mode network"),
        ({"start": 500, "mode": "removal"}, "--start 500 needs --mode network"),
        ({"start": 1001}, "start at 1 to 1000, not at 1001"),
        ({"start": 3, "steps": ["4"]}, "number of steps must be from 1 to 3, not 4"),
    ],
)
def test_what_cannot_be_sampled_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_methods(Comparison(device="cpu", **options))  # type: ignore[arg-type]


def test_a_start_is_refused_where_the_shadow_is_inpainted(tmp_path: Path) -> None:
    save_model(tmp_path / "blind.safetensors", random_model(make_unconditional(NOISE)))
    with pytest.raises(ValueError, match="--start 500: blind inpaints"):
        build_methods(Comparison(weights=[str(tmp_path / "blind.safetensors")], start=500, device="cpu"))
