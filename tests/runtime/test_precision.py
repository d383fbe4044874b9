from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from random_models import SMALL, random_model, random_pair

from deshadow.nn.config import ModelConfig
from deshadow.runtime.backend import condition
from deshadow.runtime.torch_backend import TorchBackend, choose_precision

CONFIG = ModelConfig(SMALL, SMALL, predicts="relighting")


def test_bfloat16_gives_nearly_the_picture_of_float32() -> None:
    model = random_model(CONFIG)
    picture, mask, noisy = random_pair(40, 56, batch=2)
    wide, narrow = (
        condition(TorchBackend(model, "cpu", precision), picture, mask)(noisy, 600)
        for precision in ("float32", "bfloat16")
    )
    assert narrow.dtype == np.float32
    difference = np.abs(narrow - wide)
    assert 0 < difference.mean() < 0.02 * np.abs(wide - picture).mean()


def test_bfloat16_leaves_the_model_as_it_was() -> None:
    model = random_model(CONFIG)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    backend = TorchBackend(model, "cpu", "bfloat16")
    assert any(tensor.dtype == torch.bfloat16 for tensor in backend.model.state_dict().values())
    for name, tensor in model.state_dict().items():
        assert tensor.dtype == before[name].dtype
        assert torch.equal(tensor, before[name])


def test_tensors_of_bfloat16_networks_come_back_as_float32() -> None:
    picture, mask, noisy = (torch.from_numpy(each) for each in random_pair(16, 24))
    clean = condition(TorchBackend(random_model(CONFIG), "cpu", "bfloat16"), picture, mask)(noisy, 100)
    assert clean.dtype == torch.float32


@pytest.mark.parametrize(
    ("device", "predicts", "with_bfloat16", "expected"),
    [
        ("cuda", "relighting", {"cuda"}, "bfloat16"),
        ("cuda:1", "correction", {"cuda:1"}, "bfloat16"),
        ("cuda:1", "relighting", {"cuda", "cuda:0"}, "float32"),
        ("cuda", "relighting", set(), "float32"),
        ("cuda", "noise", {"cuda"}, "float32"),
        ("cpu", "relighting", {"cpu"}, "float32"),
        ("mps", "relighting", {"mps"}, "float32"),
    ],
)
def test_a_gpu_computes_in_bfloat16_what_bears_it(
    monkeypatch: pytest.MonkeyPatch, device: str, predicts: str, with_bfloat16: set[str], expected: str
) -> None:
    current = []

    @contextmanager
    def enter(device: str) -> Iterator[None]:
        current.append(device)
        yield
        current.pop()

    monkeypatch.setattr(torch.cuda, "device", enter)
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation: current[-1] in with_bfloat16
    )
    config = replace(CONFIG, predicts=predicts)  # type: ignore[arg-type]
    assert choose_precision(config, device) == expected
