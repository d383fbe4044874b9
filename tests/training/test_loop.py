"""The training loop: its clock, its losses, its refusals, and what it imports."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import ONE_STAGE, last, options, tensors, write_pairs

from deshadow.nn.config import find_preset
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime import checkpoint
from deshadow.training import objectives
from deshadow.training.clock import share_by_clock
from deshadow.training.journal import read_log
from deshadow.training.loop import train
from deshadow.training.objectives import Batch, Criterion, Losses
from deshadow.training.state import STATE, WEIGHTS


def test_minutes_end_a_run_with_the_decay_done(tmp_path: Path) -> None:
    train(options(tmp_path, "--minutes", "0.05", "--warmup", "0"))
    assert last(tmp_path, "train")["rate"] < 0.1 * 2e-3
    assert read_log(tmp_path)[-1]["kind"] == "end"


def test_compiling_uses_up_minutes_but_is_no_progress() -> None:
    # A hundred images took 1 s, after 30 s of compiling; 69 s are left for 6,900 more.
    assert share_by_clock(100, 100, 31.0, 30.0, 100.0) == pytest.approx(100 / 7000)
    assert share_by_clock(3500, 100, 31.0, 30.0, 100.0) == pytest.approx(0.5)
    assert share_by_clock(7000, 7000, 100.0, 30.0, 100.0) == 1
    assert share_by_clock(0, 0, 0.0, 0.0, 100.0) == 0


def spoil_the_sixth_step(monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Losses], Losses]) -> None:
    calls = iter(range(10**6))

    class Spoilt(Criterion):
        def joint_loss(self, batch: Batch) -> Losses:
            losses = super().joint_loss(batch)
            return spoil(losses) if next(calls) == 5 else losses

    monkeypatch.setattr(objectives, "Criterion", Spoilt)


def make_nan(losses: Losses) -> Losses:
    return losses._replace(total=losses.total * float("nan"))


def make_gradient_nan(losses: Losses) -> Losses:
    # The loss stays as it is, but the derivative of a root at 0 is infinite.
    return losses._replace(total=losses.total + (0 * losses.total).sqrt())


@pytest.mark.parametrize("spoil", [make_nan, make_gradient_nan])
def test_an_exploding_loss_or_gradient_rolls_back_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Losses], Losses]
) -> None:
    spoil_the_sixth_step(monkeypatch, spoil)
    train(options(tmp_path, "--images", "64", *ONE_STAGE))
    lines = read_log(tmp_path)
    assert [line["images"] for line in lines if line["kind"] == "rollback"] == [24]
    assert all(np.isfinite(line["total"]) for line in lines if line["kind"] == "train")
    assert all(np.isfinite(tensor).all() for tensor in tensors(tmp_path).values())


def test_a_rollback_to_the_first_weights_of_a_call_does_not_stop_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil_the_sixth_step(monkeypatch, make_nan)
    train(options(tmp_path, "--images", "64", "--save-every", "1000", *ONE_STAGE))
    (line,) = [line for line in read_log(tmp_path) if line["kind"] == "rollback"]
    assert line["to"] == 0
    counters = json.loads(checkpoint.read_checkpoint(tmp_path / STATE).notes["counters"])
    assert counters["steps"] == counters["images"] / 4
    assert counters["standstill"] < counters["elapsed"]


def test_a_loss_that_never_recovers_ends_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Criterion):
        def joint_loss(self, batch: Batch) -> Losses:
            losses = super().joint_loss(batch)
            return Losses(losses.total * float("nan"), *losses[1:])

    monkeypatch.setattr(objectives, "Criterion", Broken)
    with pytest.raises(ValueError, match="smaller --rate"):
        train(options(tmp_path, "--images", "800", *ONE_STAGE))


def test_lag_moves_the_denoiser_before_the_encoder(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "8", "--lag", "3", *ONE_STAGE, "--weight-decay", "0"))
    torch.manual_seed(0)
    before = LFGDiffusion(find_preset("tiny")).state_dict()
    after = tensors(tmp_path)
    moved = {
        name for name, tensor in before.items() if not np.array_equal(tensor.numpy(), after[f"model.{name}"])
    }
    assert any(name.startswith("denoiser.") for name in moved)
    assert not any(name.startswith("encoder.") for name in moved)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--images", "8", "--resume"], "no run to resume"),
        (["--images", "8", "--data", "{empty}"], "no data set that is recognised"),
        (["--images", "8", "--data", "{pairs}", "--val-split", "test"], "no split 'test'"),
        (["--images", "8", "--data", "{masks}"], "problem"),
        (["--images", "8", "--init", "sunny"], "no weights 'sunny'"),
        (["--images", "8", "--init", "{light}"], "'light' was asked for|holds preset"),
        (["--images", "8", "--preset", "huge"], "unknown preset"),
        (["--images", "8", "--recipe", "soup"], "unknown recipe"),
        (["--images", "0"], "--images must be a number above 0"),
        (["--images", "8", "--synthetic", "2"], "--synthetic is a share"),
        (["--images", "8", "--device", "toaster"], "cannot compute on the device"),
        (["--images", "many"], "invalid int value"),
        (["--minutes", "nan"], "--minutes must be a number above 0"),
        (["--images", "8", "--lag", "-1"], "--lag must be a number, 0 or above"),
        (["--images", "8", "--clip", "nan"], "--clip must be a number"),
        (["--images", "8", "--val-steps", "1001"], "number of steps"),
        (["--images", "8", "--data", "{pairs}", "--out", "{pairs}/train/shadow"], "lies in the data"),
        (["--images", "8", "--size", "20"], "--size must be a multiple of 8"),
        (["--images", "8", "--weighting", "p2"], "use it with --predicts noise or v"),
        (["--images", "8", "--predicts", "noise"], "use --final 0 with --predicts noise"),
        (["--images", "8", "--no-blind"], "take --predicts noise"),
        (["--images", "8", "--pretrain", "0"], "no trained encoder to freeze"),
        (["--images", "8", "--freeze-encoder"], "add --pretrain 0 --invariant 0"),
        (
            ["--images", "8", "--freeze-encoder", "--pretrain", "0", "--invariant", "0"],
            "needs a trained encoder",
        ),
        (["--images", "8", "--freeze-encoder", "--guidance", "none"], "has no encoder"),
        (["--images", "8", "--freeze-encoder", "--preset", "detector-tiny"], "leave --freeze-encoder out"),
        (["--frobnicate"], "unrecognized arguments"),
        ([], "say how long to train"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, arguments: list[str], message: str) -> None:
    places = {name: tmp_path / name for name in ("empty", "pairs", "masks", "light")}
    places["empty"].mkdir()
    write_pairs(places["pairs"])
    write_pairs(places["masks"])
    (places["masks"] / "train" / "mask" / "0.png").rename(places["masks"] / "train" / "mask" / "other.png")
    places["light"] = tmp_path / "light.safetensors"
    checkpoint.save_model(places["light"], LFGDiffusion(find_preset("light")))
    filled = [argument.format(**{k: str(v) for k, v in places.items()}) for argument in arguments]
    with pytest.raises(ValueError, match=message):
        train(options(tmp_path / "run", *filled))
    assert not (tmp_path / "run" / STATE).exists()


def test_training_imports_nothing_beyond_torch_numpy_pillow_and_safetensors() -> None:
    code = """
import sys
import torch, numpy.random, PIL.Image, PIL.ImageOps, safetensors.numpy, torch.nn.parallel
before = {name.partition(".")[0] for name in sys.modules} | set(sys.stdlib_module_names)
import deshadow.training.__main__
print(sorted({name.partition(".")[0] for name in sys.modules} - before - {"PIL"}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['deshadow']\n"


NOISE = ["--predicts", "noise", "--final", "0", "--val-steps", "3"]


@pytest.mark.parametrize(
    "kind",
    [
        ["--sees", "picture", "--guidance", "none"],  # Palette
        ["--sees", "nothing", "--guidance", "none", *NOISE],  # RePaint
    ],
)
def test_the_diffusion_baselines_are_trained_by_the_same_loop(tmp_path: Path, kind: list[str]) -> None:
    scores = train(options(tmp_path, "--images", "8", *kind))
    assert np.isfinite(scores.shadow)
    assert checkpoint.read_config(tmp_path / WEIGHTS)[0].sees == kind[1]
