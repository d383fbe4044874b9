"""The options of training: groups on one command line, recipes, and two parsers that agree."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scenes import write_triplet

from deshadow.cli.training import parse_tokens
from deshadow.data.augment import Augmentation
from deshadow.runtime import checkpoint
from deshadow.training.ablation import ABLATE
from deshadow.training.arguments import build, change, flatten, list_arguments
from deshadow.training.batches import dilate_masks, make_augmentation, open_source
from deshadow.training.command import Command
from deshadow.training.distill import DISTILL
from deshadow.training.loop import train
from deshadow.training.options import (
    TRAIN,
    AugmentationOptions,
    TrainingOptions,
    parse_training,
)
from deshadow.training.recipes import RECIPES
from deshadow.training.state import STATE

COMMANDS: dict[str, Command[Any]] = {"train": TRAIN, "ablate": ABLATE, "distill": DISTILL}


@pytest.mark.parametrize("name", COMMANDS)
def test_both_parsers_read_the_same_options(name: str) -> None:
    first = {"train": [], "ablate": ["SRD"], "distill": ["light", "SRD"]}[name]
    tokens = [*first, "--recipe", "tiny", "--images", "8", "--rate", "0.5", "--optimizer", "muon"]
    tokens += ["--skip-problems", "--no-compiled", "--out", "there"]
    ours, theirs = COMMANDS[name].parse(tokens), COMMANDS[name].parse(tokens, parse_tokens)
    assert ours == theirs
    found = flatten(ours)
    assert found["out"] == Path("there")
    assert (found["images"], found["rate"], found["optimizer"]) == (8, 0.5, "muon")
    assert (found["skip_problems"], found["compiled"]) == (True, False)
    assert found["batch"] == RECIPES["tiny"]["batch"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_stands_in_both_helps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for parser in ((), (parse_tokens,)):
        with pytest.raises(SystemExit):
            COMMANDS[name].parse(["--help"], *parser)
        text = capsys.readouterr().out
        for argument in list_arguments(COMMANDS[name].options).values():
            shown = argument.name.upper() if argument.name in COMMANDS[name].positional else argument.flag
            assert shown in text
            assert argument.help


def test_a_command_has_the_options_that_mean_something_to_it() -> None:
    train, ablate, distill = (set(list_arguments(each.options)) for each in COMMANDS.values())
    photos = {"masked", "masked_share", "held_out", "lit", "lit_share", "lit_held_out"}
    assert train - ablate == {"resume", *photos}
    assert ablate - train == {"rows", "noise_steps"}
    stages = {"pretrain", "blind", "distinct", "hide_picture", "invariant", "invariant_target"}
    assert train - distill == {*stages, *photos, "lag", "val_steps", "val_anchor"}
    steps = {"teacher_steps", "student_steps", "compare_steps"}
    assert distill - train == {"teacher", *steps, "truth", "latent", "anchor"}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_makes_options(name: str) -> None:
    found = flatten(build(TrainingOptions, {"images": 8} | RECIPES[name]))
    assert {key: found[key] for key in RECIPES[name]} == RECIPES[name]


def test_a_shortened_option_is_refused() -> None:
    with pytest.raises(ValueError, match="unrecognized arguments: --rec paper"):
        parse_training(["--rec", "paper", "--images", "8"])


def test_flattened_options_are_built_again() -> None:
    options = parse_training(["--recipe", "tiny", "--images", "8"])
    assert build(TrainingOptions, flatten(options)) == options
    other = change(options, {"rate": 0.5, "out": Path("x"), "data": Path("y")})
    assert (other.optimization.rate, other.out, other.inputs.data) == (0.5, Path("x"), Path("y"))
    assert change(other, flatten(options)) == options


def test_what_differs_from_the_defaults_goes_with_the_weights_without_paths() -> None:
    options = parse_training(
        ["--recipe", "tiny", "--images", "8", "--out", "x", "--init", "y", "--encoder", "z"]
    )
    assert options.changes() == RECIPES["tiny"] | {"images": 8}


def test_the_recipe_paper_is_the_paper_to_the_letter() -> None:
    assert flatten(parse_training(["--recipe", "paper"])) == {
        # Sec. 3: networks of 82.6 M parameters, ε predicted under the latent E(x, m), which nothing bounds.
        "preset": "paper",
        "guidance": None,
        "fusion": None,
        "predicts": "noise",
        "sees": None,
        "latent_range": "free",
        "init": None,
        "encoder": None,
        "freeze_encoder": False,
        # Eq. 7 squared, with P2 weights; Eq. 10 to 12 as written, at all timesteps alike.
        "norm": "l2",
        "weighting": "p2",
        "lab": 0.0,
        "detail": 0.0,
        "emphasis": 0.0,
        "final": 0.0,
        "spikes": 0.0,
        "pretrain": 0.5,
        "blind": False,
        "distinct": 0.0,
        "hide_picture": 0.0,
        "invariant": 1.0,
        "invariant_target": "joint",
        "lag": 0,
        # Masks dilated by 21, none degraded; crops, flips and quarter turns alone.
        "data": None,
        "split": None,
        "val_split": None,
        "backgrounds": None,
        "occluders": None,
        "synthetic": 0.0,
        "instances": 0.5,
        "skip_problems": False,
        "size": 256,
        "degraded_masks": 0.0,
        "crop": 0.5,
        "squeeze": False,
        "exposure": 0.0,
        "balance": 0.0,
        "depth": 0.0,
        "tint": 0.0,
        "hue": 0.0,
        "saturation": 0.0,
        "mixup": 0.0,
        # Appendix B: a constant rate, 200,000 iterations. The paper names neither optimizer nor batch.
        "images": 6_400_000,
        "minutes": None,
        "pause_after": None,
        "batch": 32,
        "optimizer": "adamw",
        "rate": 2.5e-5,
        "warmup": 0,
        "decay": "constant",
        "weight_decay": 0.0,
        "clip": 0.0,
        "ema": 0,
        # How it is run.
        "out": Path("runs/latest"),
        "resume": False,
        "validate_every": 50_000,
        "val_count": 64,
        "val_steps": None,
        "val_anchor": "none",
        "device": "auto",
        "compiled": None,
        "bfloat16": None,
        "save_every": 120.0,
        "log_every": 3_200,
        "seed": 0,
        "extra": None,
        "extra_share": 0.05,
        "coloured": 0.0,
        "responses": 0.0,
        # For a detector alone.
        "masked": None,
        "masked_share": 0.3,
        "held_out": 60,
        "lit": None,
        "lit_share": 0.08,
        "lit_held_out": 16,
    }
    config = parse_training(["--recipe", "paper"]).network.model
    assert (config.guidance, config.fusion, config.sees) == ("latent", "vector", "picture+mask")


def test_under_the_recipe_paper_images_keep_their_colours_and_masks_are_dilated(tmp_path: Path) -> None:
    clean, mask = np.full((64, 64, 3), 200, np.uint8), np.zeros((64, 64), np.uint8)
    mask[24:40, 24:40] = 255
    write_triplet(
        tmp_path / "data", "0", np.where(mask[..., None] > 0, 100, clean).astype(np.uint8), mask, clean
    )
    tokens = ["--recipe", "paper", "--preset", "tiny", "--size", "64", "--data", str(tmp_path / "data")]
    source = open_source(parse_training(tokens), torch.device("cpu"))
    batch, scenes = source.batch(0, 16), source.scenes("real", range(16))
    assert (batch.clean == batch.clean[0, 0, 0, 0]).all()
    assert batch.clean[0, 0, 0, 0] == pytest.approx(200 / 127.5 - 1, abs=1e-6)
    assert batch.picture.min() == pytest.approx(100 / 127.5 - 1, abs=0.01)
    assert torch.equal(batch.mask, dilate_masks(scenes.mask))


def test_without_ema_the_averaged_weights_are_the_weights(tmp_path: Path) -> None:
    tokens = ["--recipe", "tiny", "--size", "32", "--batch", "4", "--val-count", "2", "--device", "cpu"]
    train(parse_training([*tokens, "--images", "8", "--ema", "0", "--out", str(tmp_path)]))
    found = checkpoint.read_checkpoint(tmp_path / STATE).tensors
    for name in (name for name in found if name.startswith("model.")):
        np.testing.assert_allclose(found[f"average.{name[6:]}"], found[name], atol=1e-7, err_msg=name)


def test_the_defaults_of_augmentation_are_those_of_the_data() -> None:
    assert make_augmentation(AugmentationOptions()) == Augmentation()
    assert make_augmentation(AugmentationOptions(crop=0.8)).crop == (0.8, 1.0)
