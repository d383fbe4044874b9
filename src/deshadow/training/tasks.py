"""What differs between training a remover and training a detector; the loop is the same."""

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
from deshadow.training import batches, detector, objectives, samples, validation
from deshadow.training.options import Options


@dataclass(frozen=True)
class Task:
    """The functions that the loop calls. Models, batches, losses and scores are the task's own types."""

    model: Callable[[Options], Any]
    """A model to begin with."""
    source: Callable[[Options, torch.device], Any]
    """Has `batch(first, count)`."""
    criterion: Callable[[Any, Options], nn.Module]
    """(batch, pretraining) → losses, the first of which is minimised."""
    losses: tuple[str, ...]
    validation_set: Callable[[Options, Any], Any]
    validate: Callable[[Any, Any, Options], Any]
    """Scores of a model on the validation set."""
    scores: Any
    """The type of the scores, a named tuple of numbers."""
    describe: Callable[[Any], str]
    """Scores in one line."""
    headline: Callable[[Any], str]
    """The one that matters."""
    draw: Callable[[Any, Any, Options, Path], None]
    """A picture of what a model does to the validation set."""


def task_of(options: Options) -> Task:
    """The task that a run's model is for."""
    return DETECTION if isinstance(options.config, DetectorConfig) else REMOVAL


def new_remover(options: Options) -> LFGDiffusion:
    """A remover to begin with: random, or the one that the options name."""
    if options.init is not None:
        return checkpoint.load(options.init, expect=options.model)
    return LFGDiffusion(options.model)


def new_detector(options: Options) -> ShadowDetector:
    """A detector to begin with: random, or the one that the options name."""
    config = options.config
    assert not isinstance(config, ModelConfig)
    if options.init is not None:
        return checkpoint.load_detector(options.init, expect=config)
    return ShadowDetector(config)


REMOVAL = Task(
    model=new_remover,
    source=batches.open_source,
    criterion=lambda model, options: objectives.Criterion(model, options),
    losses=objectives.Losses._fields,
    validation_set=validation.validation_set,
    validate=lambda model, pairs, options: validation.validate(model, pairs, options.val_steps, options.seed),
    scores=validation.Validation,
    describe=validation.describe,
    headline=lambda scores: f"shadow {scores.shadow:.2f}",
    draw=samples.draw_samples,
)
DETECTION = Task(
    model=new_detector,
    source=detector.open_views,
    criterion=lambda model, _: detector.Criterion(model),
    losses=detector.Losses._fields,
    validation_set=detector.validation_set,
    validate=lambda model, held, _: detector.validate(model, held),
    scores=detector.Detection,
    describe=detector.describe,
    headline=lambda scores: f"IoU {scores.iou:.3f}",
    draw=lambda model, held, _, path: detector.draw_samples(model, held, path),
)
