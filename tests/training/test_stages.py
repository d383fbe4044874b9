"""The two stages of a run, and the weights that it starts from."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from random_models import random_model
from training_runs import last, options, tensors, write_pairs

from deshadow.nn.config import find_preset
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime import checkpoint
from deshadow.training import objectives, setup
from deshadow.training.journal import read_log
from deshadow.training.loop import train
from deshadow.training.objectives import Batch, Criterion, Losses
from deshadow.training.state import WEIGHTS, State
from deshadow.training.tasks import REMOVAL, new_remover


def test_stage_one_comes_first_and_its_encoder_stays_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages: list[int] = []
    ends: list[dict[str, np.ndarray]] = []

    class Watched(Criterion):
        def pretraining_loss(self, batch: Batch) -> Losses:
            stages.append(1)
            return super().pretraining_loss(batch)

        def joint_loss(self, batch: Batch) -> Losses:
            stages.append(2)
            return super().joint_loss(batch)

    class Ending(State):
        def end_stage_one(self) -> None:
            super().end_stage_one()
            ends.append({name: tensor.numpy().copy() for name, tensor in self.tensors().items()})

    monkeypatch.setattr(objectives, "Criterion", Watched)
    monkeypatch.setattr(setup, "State", Ending)
    train(options(tmp_path, "--images", "32", "--pretrain", "0.5"))
    assert stages == [1] * 4 + [2] * 4
    (frozen,) = ends
    after = tensors(tmp_path)
    encoder = [name.removeprefix("frozen.") for name in frozen if name.startswith("frozen.")]
    assert encoder
    for name in encoder:
        np.testing.assert_array_equal(frozen[f"frozen.{name}"], frozen[f"average.encoder.{name}"])
        np.testing.assert_array_equal(after[f"frozen.{name}"], frozen[f"frozen.{name}"])
    assert any((after[f"model.encoder.{name}"] != frozen[f"model.encoder.{name}"]).any() for name in encoder)


def test_without_a_latent_there_is_no_stage_one(tmp_path: Path) -> None:
    train(options(tmp_path, "--images", "16", "--pretrain", "0.5", "--guidance", "coarse"))
    assert {line["stage"] for line in read_log(tmp_path) if line["kind"] == "train"} == {2}
    assert not [name for name in tensors(tmp_path) if name.startswith("frozen.")]


@pytest.mark.parametrize("encoder", ["other", "new", None])
def test_the_encoder_is_taken_from_where_the_options_say(tmp_path: Path, encoder: str | None) -> None:
    for seed, name in enumerate(("init", "other")):
        checkpoint.save_model(
            tmp_path / f"{name}.safetensors", random_model(find_preset("tiny"), seed), half=False
        )
    given = {
        name: checkpoint.read_checkpoint(tmp_path / f"{name}.safetensors").tensors
        for name in ("init", "other")
    }
    more = ["--init", str(tmp_path / "init.safetensors")]
    if encoder is not None:
        more += ["--encoder", str(tmp_path / "other.safetensors") if encoder == "other" else encoder]
    model = new_remover(options(tmp_path / "run", "--images", "4", *more).network)
    for name, tensor in model.state_dict().items():
        origin = encoder or "init" if name.startswith("encoder.") else "init"
        same = {each for each in given if np.array_equal(tensor.numpy(), given[each][name])}
        assert same == ({origin} if origin in given else set()) or not tensor.any(), name


def test_weights_without_a_bypass_start_a_model_with_one(tmp_path: Path) -> None:
    tiny = find_preset("tiny")
    plain = random_model(replace(tiny, denoiser=replace(tiny.denoiser, bypass=False)))
    checkpoint.save_model(tmp_path / "plain.safetensors", plain, half=False)
    more = ["--init", str(tmp_path / "plain.safetensors"), "--encoder", "new"]
    model = new_remover(options(tmp_path / "run", "--images", "4", *more).network)
    found, given = model.denoiser.state_dict(), plain.denoiser.state_dict()
    assert {name for name in found if name not in given} == {"bypass.weight", "bypass.bias"}
    assert all(
        torch.equal(found[name], given[name]) if name in given else not found[name].any() for name in found
    )


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_frozen_encoder_stays_as_it_is_while_the_denoiser_learns(tmp_path: Path, optimizer: str) -> None:
    checkpoint.save_model(tmp_path / "init.safetensors", random_model(find_preset("tiny")), half=False)
    chosen = ["--init", str(tmp_path / "init.safetensors"), "--images", "16", "--optimizer", optimizer]
    chosen += ["--freeze-encoder", "--pretrain", "0", "--invariant", "0"]
    train(options(tmp_path / "run", *chosen, "--pause-after", "1e-9"))
    train(options(tmp_path / "run", *chosen, "--resume"))
    before, after = random_model(find_preset("tiny")).state_dict(), tensors(tmp_path / "run")
    assert last(tmp_path / "run", "end")["images"] == 16
    for kind in ("model", "average"):
        moved = {name for name in before if (before[name].numpy() != after[f"{kind}.{name}"]).any()}
        assert not any(name.startswith("encoder.") for name in moved)
        assert {name.partition(".")[0] for name in moved} == {"denoiser", "fusion", "time"}


def test_an_encoder_of_another_shape_is_refused(tmp_path: Path) -> None:
    checkpoint.save_model(tmp_path / "light.safetensors", LFGDiffusion(find_preset("light")))
    chosen = options(tmp_path, "--images", "4", "--encoder", str(tmp_path / "light.safetensors"))
    with pytest.raises(ValueError, match="name weights whose networks fit"):
        new_remover(chosen.network)


def test_the_model_is_that_of_the_task_that_is_given(tmp_path: Path) -> None:
    given = random_model(find_preset("tiny"))
    train(options(tmp_path, "--images", "4", "--rate", "0"), task=replace(REMOVAL, model=lambda _: given))
    saved = tensors(tmp_path)
    for name, tensor in random_model(find_preset("tiny")).state_dict().items():
        np.testing.assert_array_equal(saved[f"model.{name}"], tensor.numpy(), err_msg=name)


def test_released_weights_load_and_carry_their_recipe_but_no_paths(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data")
    train(options(tmp_path / "run", "--images", "8", "--data", str(data), "--synthetic", "0.5"))
    weights = checkpoint.read_checkpoint(tmp_path / "run" / WEIGHTS)
    assert {tensor.dtype for tensor in weights.tensors.values()} == {np.dtype(np.float16)}
    assert json.loads(weights.notes["recipe"])["synthetic"] == 0.5
    assert str(tmp_path) not in "".join(weights.notes.values())
    with Image.open(tmp_path / "run" / "samples.png") as sheet:
        # Three pictures under a note and headings; picture, mask, latent, result, truth.
        assert sheet.size == (5 * 36 + 4, 3 * 36 + 4 + 24 + 30)


def test_released_weights_start_a_new_run(tmp_path: Path) -> None:
    train(options(tmp_path / "first", "--images", "8"))
    weights = str(tmp_path / "first" / WEIGHTS)
    train(options(tmp_path / "second", "--images", "4", "--init", weights, "--rate", "0"))
    first, second = (
        checkpoint.read_checkpoint(tmp_path / run / WEIGHTS).tensors for run in ("first", "second")
    )
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_a_stage_may_have_a_much_larger_loss_than_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Easy(Criterion):
        def pretraining_loss(self, batch: Batch) -> Losses:
            return Losses(*(loss * 1e-4 for loss in super().pretraining_loss(batch)))

    monkeypatch.setattr(objectives, "Criterion", Easy)
    train(options(tmp_path, "--images", "96", "--pretrain", "0.4"))
    assert not [line for line in read_log(tmp_path) if line["kind"] == "rollback"]
