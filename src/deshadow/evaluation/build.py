"""The methods that a user names: baselines, models from checkpoints, folders of results."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from deshadow.diffusion.choices import AnchorKind
from deshadow.evaluation.methods import BASELINES, Method, make_baseline, make_results_method
from deshadow.evaluation.models import (
    Latents,
    Sampling,
    make_batch_remover,
    make_network_remover,
    make_photo_remover,
)
from deshadow.evaluation.options import DEFAULT_WEIGHTS, Comparison, LatentKind
from deshadow.nn.config import ModelConfig, Sees
from deshadow.nn.layout import Cost, model_cost
from deshadow.runtime.checkpoint import locate, read_config
from deshadow.runtime.open import open_backend

# What a model must see to carry the name of a published one.
_SEES: Mapping[str, Sees] = {"palette": "picture", "repaint": "nothing"}
_LATENT_NOTES: Mapping[LatentKind, str] = {
    "own": "",
    "other": ", latent of another scene",
    "mean": ", mean latent of the set",
    "zero": ", latent 0",
}
_ANCHOR_NOTES: Mapping[AnchorKind, str] = {
    "none": "",
    "lit": ", lit pixels kept",
    "mean": ", mean colour of the lit pixels kept",
}


def build_methods(comparison: Comparison) -> list[Method]:
    """The methods of a comparison; ValueError says what is missing or not understood."""
    if comparison.seed < 0:
        raise ValueError(f"the seed is {comparison.seed}: it must not be negative")
    weights = _name_all(comparison.weights, lambda path: Path(path).stem)
    results = _name_all(comparison.results, lambda folder: Path(folder).resolve().name)
    names = [name.strip() for given in comparison.compare for name in given.split(",")]
    names = names or [*weights, *results] or [DEFAULT_WEIGHTS]
    if len(set(names)) < len(names):
        raise ValueError(f"a method is named twice in {', '.join(names)}: give each a name of its own")
    steps = _read_steps(comparison.steps, names)
    methods = []
    for name in names:
        if name in results and name not in weights:
            methods.append(make_results_method(name, Path(results[name])))
        elif name in BASELINES and name not in weights:
            methods.append(make_baseline(name))
        elif name in _SEES and name not in weights:
            raise ValueError(f"{name} needs a model that was trained for it: --weights {name}=PATH")
        else:
            own_steps = steps.get(name, steps.get(""))
            methods.append(_build_model(name, weights.get(name, name), comparison, own_steps))
    return methods


def _build_model(name: str, path_or_name: str, comparison: Comparison, steps: int | None) -> Method:
    config, _ = read_config(locate(path_or_name))
    _check_kind(name, config)
    _check_latent(name, config, comparison)
    _check_sampling(name, config, comparison)
    steps = config.prediction.steps if steps is None else steps
    sampling = Sampling(
        steps,
        comparison.sampler,
        comparison.seed,
        comparison.jump,
        comparison.resamplings,
        comparison.anchor,
        comparison.start,
    )
    # Refuses a start, and a number of steps, that the schedule does not have.
    config.schedule.times(steps, start=comparison.start)
    backend = open_backend(path_or_name, comparison.device, runtime=comparison.runtime)
    kind = "inpainting under the mask" if config.unconditional else f"{config.predicts} prediction"
    note = f"{kind}, {steps} step{'s' * (steps > 1)}"
    if not config.unconditional:
        note += f", {comparison.sampler}" if comparison.sampler != "ddim" else ""
        note += "" if comparison.start is None else f" from t = {comparison.start}"
        note += _ANCHOR_NOTES[comparison.anchor]
    remove_batch = None
    latents = None if comparison.latent == "own" else Latents(backend, comparison.latent)
    if comparison.mode == "network":
        remove = make_network_remover(backend, sampling, latents)
        note += _LATENT_NOTES[comparison.latent]
        if backend.device != "cpu":
            remove_batch = make_batch_remover(backend, sampling, latents)
    else:
        remove, note = make_photo_remover(backend, comparison.mode, sampling), f"{comparison.mode}: {note}"
    return Method(
        name,
        remove,
        sum(model_cost(config, 256, 256).values(), Cost()).parameters,
        note,
        every_core=backend.device == "cpu",
        prepare=None if latents is None else latents.prepare,
        remove_batch=remove_batch,
    )


def _check_latent(name: str, config: ModelConfig, comparison: Comparison) -> None:
    if comparison.latent == "own":
        return
    if comparison.mode != "network":
        raise ValueError(f"--latent {comparison.latent} needs --mode network")
    if config.guidance != "latent":
        raise ValueError(
            f"--latent {comparison.latent}: {name} has no latent, but the guidance {config.guidance}"
        )


def _check_sampling(name: str, config: ModelConfig, comparison: Comparison) -> None:
    if comparison.start is not None and config.unconditional:
        raise ValueError(f"--start {comparison.start}: {name} inpaints as RePaint does, from pure noise")
    for option, changed in (
        (f"--anchor {comparison.anchor}", comparison.anchor != "none"),
        (f"--start {comparison.start}", comparison.start is not None),
    ):
        if changed and comparison.mode != "network":
            raise ValueError(f"{option} needs --mode network")


def _check_kind(name: str, config: ModelConfig) -> None:
    sees = _SEES.get(name)
    if sees is not None and (config.sees != sees or config.guidance != "none"):
        raise ValueError(
            f"{name} is a model whose denoiser sees {sees} and has no guidance, but this one sees "
            f"{config.sees} and has guidance {config.guidance}: give it another name"
        )


def _name_all(values: Sequence[str], name: Callable[[str], str]) -> dict[str, str]:
    """Paths by name, from NAME=PATH or from PATH alone."""
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


def _read_steps(values: Sequence[str], names: Sequence[str]) -> dict[str, int]:
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
