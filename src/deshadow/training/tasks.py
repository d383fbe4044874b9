"""What differs between training a remover and a detector: the functions that the loop calls."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from deshadow.nn.config import DetectorConfig, ModelConfig
from deshadow.nn.detector import ShadowDetector
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime import checkpoint
from deshadow.runtime.quantise import dequantise
from deshadow.training import (
    batches,
    detector,
    detector_validation,
    detector_views,
    objectives,
    samples,
    validation,
)
from deshadow.training.options import ModelOptions, TrainingOptions

ENCODER = ("encoder.",)
"""Prefix of the names of the encoder's tensors."""
BACKBONE = ("stem.", "down.")
"""Prefixes of the names of the tensors of a detector's backbone."""
BYPASS = ".bypass."
"""Part of the names of the tensors of a bypass."""


@dataclass(frozen=True)
class Task:
    """The functions that the loop calls. Models, batches, losses and scores are the task's own types."""

    model: Callable[[ModelOptions], Any]
    """A new model, or one with the weights that the options name."""
    source: Callable[[TrainingOptions, torch.device], Any]
    """The data: an object with `batch(first, count)`."""
    criterion: Callable[[Any, TrainingOptions], nn.Module]
    """From a `State` to a module (batch, pretraining) → losses, the first of which is minimised."""
    losses: tuple[str, ...]
    validation_set: Callable[[TrainingOptions, Any], Any]
    validate: Callable[[Any, Any, TrainingOptions], Any]
    """Scores of a `State`'s averaged weights on the validation set."""
    scores: Any
    """The type of the scores, a named tuple of numbers."""
    describe: Callable[[Any], str]
    """Scores in one line."""
    headline: Callable[[Any], str]
    """The score that matters most, in a few words."""
    draw: Callable[[Any, Any, TrainingOptions, Path], None]
    """Writes a sheet of pictures of the validation set."""


def task_of(options: TrainingOptions) -> Task:
    """The task that a run's model is for."""
    return DETECTION if isinstance(options.network.config, DetectorConfig) else REMOVAL


def new_remover(options: ModelOptions) -> LFGDiffusion:
    """A new remover, with the weights that the options name, or random ones."""
    if options.init is not None and options.encoder is None:
        return checkpoint.load_remover(options.init, expect=options.model)
    model = LFGDiffusion(options.model)
    load_parts(model, options, ENCODER)
    return model


def new_detector(options: ModelOptions) -> ShadowDetector:
    """A new detector, with the weights that the options name, or random ones."""
    config = options.config
    assert not isinstance(config, ModelConfig)
    if options.init is not None and options.encoder is None:
        return checkpoint.load_detector(options.init, expect=config)
    model = ShadowDetector(config)
    load_parts(model, options, BACKBONE)
    return model


def load_parts(model: nn.Module, network: ModelOptions, encoder: tuple[str, ...]) -> None:
    """Copy the encoder, whose tensors have these prefixes, from one checkpoint and the rest from another."""
    if network.init is not None:
        load_part(model, network.init, lambda name: not name.startswith(encoder))
    if network.encoder not in (None, "new"):
        load_part(model, str(network.encoder), lambda name: name.startswith(encoder))


def load_part(model: nn.Module, path_or_name: str, wanted: Callable[[str], bool]) -> None:
    """Copy the tensors with the wanted names from a checkpoint, which must have them in the same shapes.

    It may lack those of a bypass: a new bypass is zero, so that the network does the same without them.
    """
    path = checkpoint.locate(path_or_name)
    given = dequantise(checkpoint.read_checkpoint(path).tensors)
    for name, tensor in model.state_dict().items():
        if not wanted(name) or (BYPASS in name and name not in given):
            continue
        if name not in given or given[name].shape != tuple(tensor.shape):
            raise ValueError(
                f"{path} has no {name} of the shape {tuple(tensor.shape)}: name weights whose networks fit"
            )
        tensor.copy_(torch.from_numpy(given[name]))


REMOVAL = Task(
    model=new_remover,
    source=batches.open_source,
    criterion=lambda state, options: objectives.Criterion(state.model, options.objective, state.frozen),
    losses=objectives.Losses._fields,
    validation_set=validation.make_validation_set,
    validate=lambda state, pairs, options: validation.validate(
        state.average,
        pairs,
        options.val_steps,
        options.seed,
        state.frozen if state.pretrained else None,
        options.validation.val_anchor,
    ),
    scores=validation.Validation,
    describe=validation.describe_validation,
    headline=lambda scores: f"shadow {scores.shadow:.2f}",
    draw=samples.draw_samples,
)
DETECTION = Task(
    model=new_detector,
    source=detector_views.open_views,
    criterion=lambda state, _: detector.DetectorCriterion(state.model),
    losses=detector.DetectorLosses._fields,
    validation_set=detector_validation.make_detector_validation_set,
    validate=lambda state, held, _: detector_validation.validate_detector(state.average, held),
    scores=detector_validation.DetectorValidation,
    describe=detector_validation.describe_detection,
    headline=lambda scores: f"IoU {scores.iou:.3f}",
    draw=lambda model, held, _, path: detector_validation.draw_detector_samples(model, held, path),
)
