"""What can be compared: methods without learning, models from checkpoints, results from elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.pictures import Source, is_picture, read_picture
from deshadow.evaluation import baselines
from deshadow.evaluation.choices import Mode
from deshadow.image.resize import SIDE, nearest
from deshadow.nn.config import ModelConfig, Sees

Pixels = NDArray[np.uint8]
Stays = NDArray[np.bool_] | None
"""(H, W): shadows that are not to be removed; None where they are not known."""
Masking = Callable[[Pixels, Pixels], Pixels]
"""(H, W, 3) picture, (256, 256) true mask → (256, 256) mask to work with."""


class Remove(Protocol):
    """Takes shadows away."""

    def __call__(self, picture: Pixels, mask: Pixels, name: str, stays: Stays = None, /) -> Pixels:
        """(H, W, 3) picture, (H, W) mask of 0 and 255, name of the picture → (h, w, 3) of any size."""
        ...


@dataclass(frozen=True, slots=True)
class Method:
    """Something that removes shadows."""

    name: str
    remove: Remove
    parameters: int | None = None
    note: str = ""
    """What it is, in a few words."""
    timed: bool = True
    """Whether the time that it takes says anything: not so for results that were made elsewhere."""
    every_core: bool = False
    """Whether it keeps every core busy by itself, so that reading and scoring beside it would slow it."""


# Named as on the command line.
BASELINES: Mapping[str, tuple[Callable[[Pixels, Pixels], Pixels], str]] = {
    "input": (baselines.unchanged, "the picture as it came"),
    "gain": (baselines.region_gain, "region gain with a feathered edge"),
    "lab": (baselines.statistics_transfer, "LAB statistics transfer"),
}
# What a model must see to carry the name of a published one.
_SEES: Mapping[str, Sees] = {"palette": "picture", "repaint": "nothing"}


@dataclass(frozen=True, slots=True)
class Request:
    """What the user wants compared, as given on the command line."""

    compare: Sequence[str] = ()
    """Names, in the order of the table; empty: every one of weights and results."""
    weights: Sequence[str] = ()
    """NAME=PATH, PATH, or the name of shipped weights."""
    results: Sequence[str] = ()
    """NAME=FOLDER, or FOLDER."""
    mode: Mode = "network"
    steps: Sequence[str] = ()
    """N for every model, or NAME=N for one."""
    seed: int = 0
    jump: int = 10
    resamplings: int = 10
    device: str = "auto"


def build(request: Request, default_weights: str) -> list[Method]:
    """The methods of a request; ValueError says what is missing or not understood."""
    if request.seed < 0:
        raise ValueError(f"the seed is {request.seed}: it must not be negative")
    weights = _named(request.weights, _weights_name)
    results = _named(request.results, lambda folder: Path(folder).resolve().name)
    names = list(request.compare) or [*weights, *results]
    if not names:
        names, weights = [default_weights], {default_weights: default_weights}
    if len(set(names)) < len(names):
        raise ValueError(f"a method is named twice in {', '.join(names)}: give each a name of its own")
    steps = _steps(request.steps, names)
    methods = []
    for name in names:
        if name in weights:
            methods.append(_model(name, weights[name], request, steps.get(name, steps.get(""))))
        elif name in results:
            methods.append(Method(name, from_folder(Path(results[name])), note="made elsewhere", timed=False))
        elif name in BASELINES:
            methods.append(_baseline(name))
        elif name in _SEES:
            raise ValueError(f"{name} needs a model that was trained for it: --weights {name}=PATH")
        else:
            methods.append(_model(name, name, request, steps.get(name, steps.get(""))))
    return methods


def with_masks(method: Method, masking: Masking, note: str) -> Method:
    """A method that is given other masks than the true ones; it is scored in the true ones."""

    def remove(picture: Pixels, mask: Pixels, name: str, stays: Stays = None) -> Pixels:
        other = masking(picture, nearest(mask, SIDE, SIDE))
        return method.remove(picture, nearest(other, *mask.shape), name)

    return replace(method, remove=remove, note=f"{method.note}, {note}")


def from_folder(folder: Path) -> Remove:
    """The pictures of a folder as results, found by name, whatever their ending and size."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder: --results takes the folder of the pictures to score")
    files = {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*"))
        if is_picture(path)
    }

    def remove(picture: Pixels, mask: Pixels, name: str, stays: Stays = None) -> Pixels:
        # A picture of the split test is found as test/NAME, or as NAME.
        path = files.get(name) or files.get(name.partition("/")[2])
        if path is None:
            raise ValueError(f"no result of the name {name.partition('/')[2]} in {folder}")
        return read_picture(Source(path))

    return remove


def _baseline(name: str) -> Method:
    remove, note = BASELINES[name]
    return Method(name, lambda picture, mask, *_: remove(picture, mask), 0, note)


def _model(name: str, path_or_name: str, request: Request, steps: int | None) -> Method:
    from deshadow.evaluation.network import Sampling, network
    from deshadow.evaluation.whole import whole
    from deshadow.nn.layout import Cost, model_cost
    from deshadow.runtime.backends import TorchBackend, open_backend
    from deshadow.runtime.checkpoint import locate, read_config

    config, _ = read_config(locate(path_or_name))
    _check(name, config)
    steps = config.prediction.steps if steps is None else steps
    sampling = Sampling(steps, seed=request.seed, jump=request.jump, resamplings=request.resamplings)
    config.schedule.times(sampling.steps)  # refuses a number of steps that the schedule does not have
    backend = open_backend(path_or_name, request.device)
    parameters = sum(model_cost(config, 256, 256).values(), Cost()).parameters
    kind = "inpainting under the mask" if config.unconditional else f"{config.predicts} prediction"
    note = f"{kind}, {sampling.steps} step{'s' if sampling.steps > 1 else ''}"
    if request.mode == "network":
        remove = network(backend, sampling)
    else:
        remove, note = whole(backend, request.mode, steps, request.seed), f"{request.mode}: {note}"
    return Method(
        name,
        remove,
        parameters,
        note,
        every_core=not isinstance(backend, TorchBackend) or backend.device == "cpu",
    )


def _check(name: str, config: ModelConfig) -> None:
    sees = _SEES.get(name)
    if sees is not None and (config.sees != sees or config.guidance != "none"):
        raise ValueError(
            f"{name} is a model whose denoiser sees {sees} and has no guidance, but this one sees "
            f"{config.sees} and has guidance {config.guidance}: give it another name"
        )


def _named(values: Sequence[str], name: Callable[[str], str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value in values:
        given, equals, path = value.partition("=")
        if equals and "/" not in given:  # a folder may have = in its name
            found[given] = path
        else:
            found[name(value)] = value
    if len(found) < len(values):
        raise ValueError(f"two of {', '.join(values)} have one name: write NAME=PATH for each")
    return found


def _weights_name(value: str) -> str:
    return Path(value).stem


def _steps(values: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Steps by name; those of the empty name are for every model without its own."""
    steps: dict[str, int] = {}
    for value in values:
        name, _, number = value.rpartition("=")
        if name and name not in names:
            raise ValueError(f"--steps {value}: no method {name!r} is compared")
        if not number.isdigit():
            raise ValueError(f"--steps {value}: write a number, or NAME=NUMBER")
        steps[name] = int(number)
    return steps
