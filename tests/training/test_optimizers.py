"""Muon: orthogonal steps for the weights that are matrices, and a state that can be taken up again."""

from pathlib import Path

import numpy as np
import pytest
import torch
from random_models import SMALL, random_model

from deshadow.nn.config import ModelConfig
from deshadow.runtime import checkpoint
from deshadow.training.loop import train
from deshadow.training.optimizers import Muon, inner_matrices, orthogonalise
from deshadow.training.options import TrainingOptions, parse_training
from deshadow.training.state import STATE


def options(out: Path, *more: str) -> TrainingOptions:
    tiny = ["--recipe", "tiny", "--size", "32", "--batch", "4", "--val-count", "4", "--device", "cpu"]
    return parse_training([*tiny, "--optimizer", "muon", "--decay", "constant", "--out", str(out), *more])


def test_steps_are_orthogonal_wide_or_tall() -> None:
    torch.manual_seed(0)
    # The first two are of about one size, and so are done together.
    tensors = [torch.randn(shape) for shape in ((24, 10, 3, 3), (90, 30), (4, 200))]
    for tensor, found in zip(tensors, orthogonalise(tensors), strict=True):
        values = torch.linalg.svdvals(found)
        assert found.shape == tensor.flatten(1).shape
        assert 0.6 < values.min() <= values.max() < 1.3
        # Which way each direction points is kept: only how far is made even.
        one, _, other = torch.linalg.svd(tensor.flatten(1), full_matrices=False)
        torch.testing.assert_close(found / values.mean(), one @ other, atol=0.15, rtol=0.3)


def test_all_inner_weights_go_as_far_and_the_others_as_adamw_takes_them() -> None:
    model = random_model(ModelConfig(denoiser=SMALL, encoder=SMALL))
    before = {name: tensor.clone() for name, tensor in model.named_parameters()}
    optimizer = Muon(model, lr=0.01, weight_decay=0.0, fused=False)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()

    inner = set(inner_matrices(model))
    assert model.denoiser.stem.weight not in inner
    assert model.denoiser.out.weight not in inner
    assert model.get_parameter("denoiser.down.0.residual.conv1.weight") in inner
    for name, parameter in model.named_parameters():
        moved = (parameter - before[name]).detach()
        if parameter in inner:
            expected = pytest.approx(0.01 * 0.2, rel=0.3)
            assert moved.square().mean().sqrt().item() == expected
        else:
            torch.testing.assert_close(moved.abs(), torch.full_like(moved, 0.01), rtol=1e-3, atol=1e-6)


def test_a_resumed_run_ends_as_an_unbroken_one(tmp_path: Path) -> None:
    train(options(tmp_path / "whole", "--images", "16"))
    train(options(tmp_path / "parts", "--images", "8"))
    train(options(tmp_path / "parts", "--images", "16", "--resume"))
    whole, parts = (checkpoint.read_checkpoint(tmp_path / run / STATE).tensors for run in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    for name in whole:
        np.testing.assert_allclose(parts[name], whole[name], atol=1e-6, err_msg=name)
