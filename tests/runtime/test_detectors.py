import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from random_models import SMALL, random_model
from torch.utils.flop_counter import FlopCounterMode
from without_torch import WITHOUT_TORCH

from deshadow.nn.config import (
    DETECTORS,
    DetectorConfig,
    ModelConfig,
    config_from_json,
    describe_config,
    find_config,
)
from deshadow.nn.detector import ShadowDetector
from deshadow.nn.layout import Cost, detector_cost
from deshadow.runtime import checkpoint
from deshadow.runtime.onnx_backend import OnnxDetector
from deshadow.runtime.open import open_backend, open_detector
from deshadow.runtime.torch_backend import TorchDetector

pytestmark = pytest.mark.xdist_group("detector")  # its graph is exported once

TINY = DETECTORS["detector-tiny"]


def random_detector(config: DetectorConfig = TINY) -> ShadowDetector:
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        model = ShadowDetector(config)
        for parameter in model.parameters():
            spread = 0.3 if parameter.ndim == 1 else parameter[0].numel() ** -0.5
            parameter.add_(torch.randn(parameter.shape) * spread)
    return model.eval()


def picture(height: int, width: int, batch: int = 1) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (batch, 3, height, width)).astype(np.float32)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random tiny detector with its graph beside it; not to be changed."""
    from deshadow.runtime.export import export

    path = tmp_path_factory.mktemp("detector") / "finder.safetensors"
    checkpoint.save_model(path, random_detector())
    assert [graph.name for graph in export(path)] == ["finder.onnx"]
    return path


@pytest.mark.parametrize(("height", "width", "batch"), [(32, 48, 1), (37, 21, 2), (1, 9, 1)])
def test_both_runtimes_agree_at_any_size(weights: Path, height: int, width: int, batch: int) -> None:
    seen = picture(height, width, batch)
    by_onnx, by_torch = OnnxDetector(weights)(seen), TorchDetector(checkpoint.load_detector(weights))(seen)
    assert by_onnx.shape == (batch, 1, height, width)
    assert by_onnx.dtype == np.float32
    assert 0 <= by_onnx.min() < by_onnx.max() <= 1
    np.testing.assert_allclose(by_onnx, by_torch, atol=1e-4)


def test_a_picture_that_needs_no_padding_is_seen_as_it_is(weights: Path) -> None:
    model, seen = checkpoint.load_detector(weights), torch.from_numpy(picture(32, 32))
    with torch.no_grad():
        expected = torch.sigmoid(model(seen))
    torch.testing.assert_close(TorchDetector(model)(seen), expected, atol=1e-5, rtol=0)


def test_a_tensor_gives_a_tensor(weights: Path) -> None:
    seen = torch.from_numpy(picture(20, 20))
    for detector in (OnnxDetector(weights), TorchDetector(random_detector())):
        assert isinstance(detector(seen), torch.Tensor)


def test_the_cpu_gets_onnxruntime_where_there_is_a_graph(weights: Path, tmp_path: Path) -> None:
    assert isinstance(open_detector(weights, "cpu"), OnnxDetector)
    bare = tmp_path / "bare.safetensors"
    checkpoint.save_model(bare, random_detector())
    assert isinstance(open_detector(bare, "cpu"), TorchDetector)


def test_it_needs_no_torch(weights: Path) -> None:
    code = """
from deshadow.runtime.open import open_detector
found = open_detector(sys.argv[1])(np.zeros((1, 3, 19, 40), np.float32))
assert found.shape == (1, 1, 19, 40)
"""
    command = [sys.executable, "-c", WITHOUT_TORCH + code, str(weights)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_wrong_kind_of_weights_is_refused_in_one_sentence(weights: Path, tmp_path: Path) -> None:
    remover = tmp_path / "remover.safetensors"
    checkpoint.save_model(remover, random_model(ModelConfig(SMALL, SMALL)))
    for open_it in (open_detector, checkpoint.load_detector, OnnxDetector):
        with pytest.raises(ValueError, match="holds a remover, but a detector is needed"):
            open_it(remover)
    for open_remover in (open_backend, checkpoint.load_remover):
        with pytest.raises(ValueError, match="holds a detector, but a remover is needed"):
            open_remover(weights)


@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 4, 8, 8), (1, 3, 0, 8)])
def test_what_is_no_picture_is_refused(weights: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="the picture"):
        OnnxDetector(weights)(np.zeros(shape, np.float32))


def test_another_detector_than_the_expected_one_is_refused(weights: Path) -> None:
    with pytest.raises(ValueError, match="holds preset 'detector-tiny', but preset 'detector' was asked for"):
        checkpoint.load_detector(weights, expect=DETECTORS["detector"])


@pytest.mark.parametrize("name", DETECTORS)
def test_costs_are_what_torch_counts(name: str) -> None:
    with torch.device("meta"):
        model = ShadowDetector(DETECTORS[name])
        with FlopCounterMode(display=False) as counter:
            model(torch.empty(1, 3, 64, 96))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert detector_cost(DETECTORS[name], 64, 96) == Cost(parameters, counter.get_total_flops())


def test_the_detector_fits_beside_the_remover() -> None:
    # With 8 bits a parameter, all that ships stays below 26 MiB.
    assert detector_cost(DETECTORS["detector"], 256, 256).parameters < 4 * 2**20


def test_a_configuration_survives_json_and_knows_its_kind() -> None:
    for name, config in DETECTORS.items():
        assert config_from_json(config.to_json()) == find_config(name) == config
        assert describe_config(config) == f"preset {name!r}"
    assert isinstance(config_from_json(ModelConfig(SMALL, SMALL).to_json()), ModelConfig)
    for text in ('{"kind": "detector"}', '{"kind": "detector", "unet": {"base": 3}}', '{"kind": "fan"}'):
        with pytest.raises(ValueError, match="not a model configuration of this version"):
            config_from_json(text)
    with pytest.raises(ValueError, match=r"unknown preset 'huge': choose from paper, .*, detector"):
        find_config("huge")
