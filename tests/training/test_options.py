"""The options of training: groups on one command line, recipes, and two parsers that agree."""

from pathlib import Path
from typing import Any

import pytest

from deshadow.cli.training import parse_tokens
from deshadow.training.ablation import ABLATE
from deshadow.training.arguments import build, change, flatten, list_arguments
from deshadow.training.distill import DISTILL
from deshadow.training.options import RECIPES, TRAIN, Command, TrainingOptions, parse

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
    assert train - ablate == {"resume"}
    assert ablate - train == {"rows", "noise_steps"}
    stages = {"pretrain", "blind", "invariant", "invariant_target"}
    assert train - distill == {*stages, "lag", "val_steps"}
    assert distill - train == {"teacher", "teacher_steps", "student_steps", "truth", "latent"}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_makes_options(name: str) -> None:
    found = flatten(build(TrainingOptions, {"images": 8} | RECIPES[name]))
    assert {key: found[key] for key in RECIPES[name]} == RECIPES[name]


def test_flattened_options_are_built_again() -> None:
    options = parse(["--recipe", "tiny", "--images", "8"])
    assert build(TrainingOptions, flatten(options)) == options
    other = change(options, {"rate": 0.5, "out": Path("x"), "data": Path("y")})
    assert (other.optimization.rate, other.out, other.inputs.data) == (0.5, Path("x"), Path("y"))
    assert change(other, flatten(options)) == options


def test_what_differs_from_the_defaults_goes_with_the_weights_without_paths() -> None:
    options = parse(["--recipe", "tiny", "--images", "8", "--out", "x", "--init", "y", "--encoder", "z"])
    assert options.changes() == RECIPES["tiny"] | {"images": 8}
