"""Everything that a training run is made of, as one frozen dataclass; the command line is built from it."""

import argparse
import ast
import inspect
import json
import math
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from deshadow.diffusion.prediction import Kind
from deshadow.nn.config import DETECTORS, Config, DetectorConfig, Fusion, Guidance, ModelConfig, Sees, named
from deshadow.training.objectives import Objective

Decay = Literal["constant", "cosine"]
Optimizer = Literal["adamw", "muon"]


@dataclass(frozen=True)
class Options(Objective):
    """One training run; of a given length in images, the same options give the same weights."""

    out: Path = Path("runs/latest")
    """Folder of the run: state, weights, log, pictures."""
    data: Path | None = None
    """Folder of real pairs, in any layout that `deshadow data look` reads; none: synthetic ones alone."""
    split: str | None = None
    """The split to train on; by default train, or all of a set without splits."""
    val_split: str | None = None
    """The split to validate on; by default val, or test, or what is trained on if there is neither."""
    backgrounds: Path | None = None
    """Folder or tar of evenly lit pictures to cast synthetic shadows on; none: drawn ones."""
    occluders: Path | None = None
    """Folder or tar of silhouettes that cast them; none: drawn ones."""
    synthetic: float = 0.0
    """Share of synthetic triplets, 0 to 1; 1 where there is no data."""
    instances: float = 0.5
    """Share of the synthetic triplets with several shadows of which one is the target."""
    skip_problems: bool = False
    """Go on without pairs that cannot be used, instead of listing them."""

    preset: str = "light"
    """The model: paper, light, tiny, or one that finds shadows: detector, detector-tiny."""
    guidance: Guidance | None = None
    """Another guidance than the preset's."""
    fusion: Fusion | None = None
    """Another fusion than the preset's."""
    predicts: Kind | None = None
    """Another prediction than the preset's."""
    sees: Sees | None = None
    """Other conditions than the preset's: Palette sees the picture alone, RePaint nothing."""
    init: str | None = None
    """Weights to start from, a path or a name; the run's own counters start at 0."""
    encoder: str | None = None
    """Weights whose encoder to start from, a path or a name, or `new`, instead of the encoder in --init."""

    pretrain: float = 0.15
    """Share of the run that is stage one, on shadow-free pictures alone (Eq. 12)."""
    final: float = 0.0
    """Share of the images at the last timestep, where sampling begins; the others take any."""
    lag: int = 0
    """Steps of the denoiser alone before each step of both (Tab. 3, lagged posterior)."""

    images: int | None = None
    """Length of the run in images; with minutes, whichever ends first."""
    minutes: float | None = None
    """Length of the run in minutes, over all its resumptions."""
    pause_after: float | None = None
    """Stop after so many minutes of this call without decaying, to be resumed."""
    batch: int = 64
    """Images a step, over all GPUs."""
    size: int = 256
    """Side of the training crops."""
    optimizer: Optimizer = "adamw"
    """muon takes orthogonal steps, and gets further with as many images."""
    rate: float = 3e-4
    """Learning rate after the warm-up."""
    warmup: int = 10_000
    """Images over which the learning rate rises."""
    decay: Decay = "cosine"
    """What becomes of the learning rate towards the end."""
    weight_decay: float = 0.01
    """How far weights shrink towards 0, times the rate."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    ema: int = 100_000
    """Half-life of the averaged weights, in images; shorter in the beginning."""
    seed: int = 0
    """Of everything that is random."""

    validate_every: int = 50_000
    """Images between two validations."""
    val_count: int = 64
    """Pictures of a validation."""
    val_steps: int = 1
    """Sampling steps of a validation."""
    save_every: float = 120.0
    """Seconds between two saved states."""
    log_every: int = 3_200
    """Images between two lines of the log."""
    resume: bool = False
    """Go on with the run in `out`."""
    device: str = "auto"
    """auto, cpu, cuda."""
    compiled: bool | None = None
    """Compile the error of a picture; by default on a GPU with Triton."""
    bfloat16: bool | None = None
    """Compute in bfloat16 where that is safe; by default on a GPU."""

    def __post_init__(self) -> None:
        if self.images is None and self.minutes is None:
            raise ValueError("say how long to train: --images or --minutes")
        for name in ("synthetic", "instances", "pretrain", "final"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"--{name} is a share: it must lie between 0 and 1")
        for name in ("batch", "size", "ema", "validate_every", "val_count", "val_steps", "log_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{flag(name)} must be 1 or more")
        for name in ("images", "minutes", "pause_after"):
            if getattr(self, name) is not None and not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{flag(name)} must be a number above 0")
        weights = ("lab", "detail", "emphasis", "invariant", "weight_decay")
        for name in (*weights, "lag", "rate", "warmup", "clip", "save_every"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{flag(name)} must be a number, 0 or above")
        if self.data is not None and self.out.resolve().is_relative_to(self.data.resolve()):
            raise ValueError(f"--out {self.out} lies in the data: name another folder")
        config = self.config
        if self.size % config.stride:
            raise ValueError(f"--size must be a multiple of {config.stride} for this model, not {self.size}")
        if isinstance(config, DetectorConfig):
            return
        model = self.model
        model.schedule.times(self.val_steps)
        if self.weighting == "p2" and not model.prediction.p2:
            raise ValueError("--weighting p2 weighs the error of the noise: it goes with --predicts noise")
        if not self.blind and self.pretrain and model.prediction.needs_shadow:
            raise ValueError("--no-blind leaves nothing to correct in stage one: take --predicts noise")

    @property
    def config(self) -> Config:
        """The configuration of the networks, of a remover or of a detector."""
        chosen = {name: getattr(self, name) for name in ("guidance", "fusion", "predicts", "sees")}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        config = named(self.preset)
        if isinstance(config, ModelConfig):
            return replace(config, **chosen)
        if chosen:
            raise ValueError(f"a detector has no {', '.join(chosen)}: leave {flag(next(iter(chosen)))} out")
        return config

    @property
    def model(self) -> ModelConfig:
        """The configuration of a remover's networks."""
        config = self.config
        assert isinstance(config, ModelConfig)
        return config

    @property
    def timesteps(self) -> int:
        """Length of the model's diffusion; a detector has none."""
        return 1 if isinstance(self.config, DetectorConfig) else self.config.schedule.length

    def to_json(self) -> str:
        """For the log and the saved state."""
        return json.dumps(asdict(self), default=str, sort_keys=True)

    def recipe(self) -> str:
        """For released weights: what differs from the defaults, without the places of files."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        defaults = {each.name: each.default for each in fields(self)}
        changed = {name: value for name, value in kept.items() if value != defaults[name]}
        return json.dumps({k: v for k, v in changed.items() if not isinstance(v, Path) and k != "init"})


RECIPES: dict[str, dict[str, Any]] = {
    # Appendix B; the paper names neither optimizer nor batch: AdamW, 64.
    "paper": {
        "preset": "paper",
        "norm": "l2",
        "weighting": "p2",
        "invariant_target": "joint",
        "blind": False,
        "pretrain": 0.5,
        "rate": 2.5e-5,
        "warmup": 0,
        "decay": "constant",
        "weight_decay": 0.0,
        "images": 200_000 * 64,
        "val_steps": 50,
    },
    "light": {
        "preset": "light",
        "batch": 128,
        "optimizer": "muon",
        "rate": 1e-3,
        "lab": 2.0,
        "detail": 3.0,
        "emphasis": 1.0,
        "pretrain": 0.2,
        "final": 0.7,
        "synthetic": 0.5,
        "instances": 0.65,
    },
    "tiny": {
        "preset": "tiny",
        "size": 64,
        "batch": 16,
        "rate": 2e-3,
        "lab": 1.0,
        "emphasis": 1.0,
        "pretrain": 0.08,
        "final": 0.6,
        "ema": 4_000,
        "warmup": 500,
    },
    "detector": {"preset": "detector", "rate": 2e-3, "synthetic": 0.35, "ema": 50_000},
    "detector-tiny": {
        "preset": "detector-tiny",
        "size": 64,
        "batch": 16,
        "rate": 3e-3,
        "ema": 4_000,
        "warmup": 500,
    },
}
"""What differs from the defaults, by the recipe's name; the preset of a detector brings its own along."""


def parse(arguments: Sequence[str]) -> Options:
    """Options from a command line."""
    return Options(**chosen(arguments, Options, "deshadow train", "Train a model."))


def chosen(
    arguments: Sequence[str],
    kind: type[Options],
    command: str,
    about: str,
    *,
    first: Sequence[str] = (),
    without: Sequence[str] = (),
) -> dict[str, Any]:
    """What a command line says of each field but those left out; `--recipe` sets defaults that it overrides.

    The fields in `first` are given by their place; one that has a default may be left out.
    """
    before = argparse.ArgumentParser(add_help=False)
    before.add_argument("--recipe")
    before.add_argument("--preset")
    known = before.parse_known_args(arguments)[0]
    recipe = known.recipe or (known.preset if known.preset in DETECTORS else "light")
    if recipe not in RECIPES:
        raise ValueError(f"unknown recipe {recipe!r}: choose from {', '.join(RECIPES)}")
    parser = Parser(prog=command, description=about)
    kinds, helps = get_type_hints(kind), docstrings(kind)
    options = {each.name: each for each in fields(kind) if each.name not in without}
    for name in first:
        default = options.pop(name).default
        many = None if default is MISSING else "?"
        parser.add_argument(name, nargs=many, type=plain(kinds[name]), metavar=name.upper(), help=helps[name])
    parser.add_argument("--recipe", default="light", metavar="NAME", help=f"{', '.join(RECIPES)} (light)")
    for name, each in options.items():
        add_option(parser, name, kinds[name], RECIPES[recipe].get(name, each.default), helps[name])
    found = vars(parser.parse_intermixed_args(arguments))
    del found["recipe"]
    return found


class Parser(argparse.ArgumentParser):
    """Complains as the rest of the house does."""

    def error(self, message: str) -> Any:
        """Raise what the command line turns into one line."""
        raise ValueError(f"{message} ({self.prog} --help lists the options)")


def add_option(parser: argparse.ArgumentParser, name: str, kind: Any, default: Any, text: str) -> None:
    """One option of the type of a field."""
    kind = plain(kind)
    text = text if default is None else f"{text} ({default})"
    if kind is bool:
        parser.add_argument(flag(name), action=argparse.BooleanOptionalAction, default=default, help=text)
    elif get_origin(kind) is Literal:
        parser.add_argument(flag(name), choices=get_args(kind), default=default, help=text)
    else:
        parser.add_argument(flag(name), type=kind, default=default, metavar=kind.__name__.upper(), help=text)


def plain(kind: Any) -> Any:
    """The type of a field, without the None that it may be instead."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return next(part for part in get_args(kind) if part is not type(None))


def flag(name: str) -> str:
    """The option of a field."""
    return f"--{name.replace('_', '-')}"


def docstrings(kind: type) -> dict[str, str]:
    """The docstring behind each field of a class and of what it inherits."""
    found = {}
    for each in reversed(kind.__mro__[:-1]):
        body = ast.parse(inspect.getsource(each)).body[0]
        assert isinstance(body, ast.ClassDef)
        for before, after in pairwise(body.body):
            if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr):
                assert isinstance(before.target, ast.Name)
                assert isinstance(after.value, ast.Constant)
                found[before.target.id] = str(after.value.value).replace("%", "%%")
    return found
