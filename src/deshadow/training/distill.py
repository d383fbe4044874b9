"""Distillation: a student that gives in few steps what a teacher gives in many (Tab. 5).

`python -m deshadow.training.distill` is `deshadow distill` with torch, numpy, Pillow and safetensors alone.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deshadow.diffusion.anchor import Anchor
from deshadow.diffusion.choices import AnchorKind
from deshadow.diffusion.prediction import diffuse, noise_from, picture_from
from deshadow.nn.config import ModelConfig
from deshadow.nn.lfg import LFGDiffusion, standardise
from deshadow.runtime import checkpoint
from deshadow.training.arguments import check_numbers, check_shares
from deshadow.training.batches import open_source
from deshadow.training.command import Command
from deshadow.training.comparison import Contender, compare
from deshadow.training.endings import run_and_exit
from deshadow.training.journal import read_log
from deshadow.training.loop import train
from deshadow.training.objectives import Batch, Criterion, Losses, invariant_loss
from deshadow.training.options import (
    AugmentationOptions,
    DataOptions,
    Length,
    Machine,
    ModelOptions,
    Objective,
    Optimization,
    PictureLoss,
    TrainingOptions,
    ValidationOptions,
)
from deshadow.training.state import WEIGHTS, State
from deshadow.training.tasks import REMOVAL
from deshadow.training.validation import make_validation_set
from deshadow.training.world import local_device


@dataclass(frozen=True)
class Distillation:
    """A training run whose target is mostly what a teacher makes of y_t. It has one stage, the second."""

    out: Path = Path("runs/distilled")
    """Folder of the run: state, weights, log, pictures, and the comparison with the teacher."""
    resume: bool = False
    """Continue the run in --out."""
    teacher: str = ""
    """The weights to learn from, a path or a name; of any preset with the same noise schedule."""
    teacher_steps: int = 4
    """Sampling steps that the teacher takes from y_t to its result."""
    student_steps: int = 1
    """Sampling steps that the student will take: it learns at the timesteps of these."""
    compare_steps: int | None = None
    """Sampling steps of the teacher where both are compared at the end. By default --teacher-steps."""
    anchor: AnchorKind = "none"
    """What teacher and student keep of the lit part of the photo while they sample: none; lit: the pixels
    outside the mask; mean: only their mean colour."""
    truth: float = 0.2
    """Share of the true picture in the target; the rest is the teacher's result."""
    latent: float = 0.1
    """Weight of the loss that pulls the student's latent to the teacher's, where both have one. Both are
    compared with mean 0 and deviation 1 in each picture, so that their ranges may differ."""
    inputs: DataOptions = field(default_factory=DataOptions)
    augmentation: AugmentationOptions = field(default_factory=AugmentationOptions)
    network: ModelOptions = field(default_factory=ModelOptions)
    loss: PictureLoss = field(default_factory=PictureLoss)
    length: Length = field(default_factory=Length)
    optimization: Optimization = field(default_factory=Optimization)
    validate_every: int = 50_000
    """Images between two validations. The end of a run is always validated."""
    val_count: int = 64
    """Pictures in a validation."""
    machine: Machine = field(default_factory=Machine)
    seed: int = 0
    """Seed of all random numbers."""

    def __post_init__(self) -> None:
        if not self.teacher:
            raise ValueError("name the teacher: deshadow distill WEIGHTS DATA")
        check_shares(self, "truth")
        check_numbers(self, "latent")
        if not isinstance(self.network.config, ModelConfig):
            raise ValueError(
                f"{self.network.preset} detects shadows, and only what removes them is distilled"
            )
        model = self.training.network.model
        for steps in (self.teacher_steps, self.compare_steps or 1):
            model.schedule.times(steps)
        if model.unconditional:
            raise ValueError("a student that sees nothing cannot follow a teacher: leave --sees out")

    @property
    def training(self) -> TrainingOptions:
        """The training run of the student."""
        values = {each.name: getattr(self.loss, each.name) for each in fields(self.loss)}
        return TrainingOptions(
            out=self.out,
            resume=self.resume,
            inputs=self.inputs,
            augmentation=self.augmentation,
            network=self.network,
            objective=Objective(**values, pretrain=0.0, invariant=0.0),
            length=self.length,
            optimization=self.optimization,
            validation=ValidationOptions(
                self.validate_every, self.val_count, self.student_steps, self.anchor
            ),
            machine=self.machine,
            seed=self.seed,
        )

    @property
    def about(self) -> dict[str, Any]:
        """What the student's weights say of their teacher: its file's name, and not its place."""
        names = ("teacher_steps", "student_steps", "truth", "latent", "anchor")
        return {"teacher": Path(self.teacher).name, **{name: getattr(self, name) for name in names}}


DISTILL = Command(
    "distill",
    "Train a student that gives in few steps what a teacher gives in many.",
    Distillation,
    positional=("teacher", "data"),
)


def parse_distillation(tokens: Sequence[str]) -> Distillation:
    """A distillation from a command line."""
    return DISTILL.parse(tokens)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Distil, and return the folder of the run. An error of the user ends in one line and exit code 2."""
    return run_and_exit(lambda: distill(parse_distillation(sys.argv[1:] if arguments is None else arguments)))


def distill(options: Distillation) -> Path:
    """Train a student to its end, or to a pause; compare it with its teacher; return the run's folder."""
    teacher, training = load_teacher(options), options.training
    source = open_source(training, local_device(options.machine.device))
    criterion = partial(StudentCriterion, teaching=options, teacher=teacher)
    train(training, task=replace(REMOVAL, criterion=criterion), source=source, about=options.about)
    if int(os.environ.get("RANK", "0")) == 0 and read_log(options.out)[-1]["kind"] == "end":
        compare(
            Contender(options.teacher, options.compare_steps or options.teacher_steps),
            Contender(str(options.out / WEIGHTS), options.student_steps),
            make_validation_set(training, source),
            options.out,
            seed=options.seed,
            anchor=options.anchor,
        )
    return options.out


def load_teacher(options: Distillation) -> LFGDiffusion:
    """The teacher; refused where the student cannot learn from it."""
    teacher = checkpoint.load_remover(options.teacher)
    config = teacher.config
    if config.unconditional:
        raise ValueError(f"the teacher {options.teacher} sees no picture: there is nothing to learn from it")
    if config.schedule != options.network.model.schedule:
        raise ValueError(f"the teacher {options.teacher} has another noise schedule than the student")
    size = options.inputs.size
    if size % config.stride:
        raise ValueError(f"--size must be a multiple of {config.stride} for the teacher, not {size}")
    return teacher


class StudentCriterion(Criterion):
    """A student with its losses: towards its teacher's result, and towards its teacher's latent."""

    visited: Tensor

    def __init__(
        self, state: State, options: TrainingOptions, teaching: Distillation, teacher: LFGDiffusion
    ) -> None:
        model = state.model
        assert isinstance(model, LFGDiffusion)
        super().__init__(model, options.objective)
        self.options = teaching
        self.teacher = teacher.eval().requires_grad_(requires_grad=False)
        length = model.config.schedule.length
        times = torch.tensor(model.config.schedule.times(teaching.student_steps)[-2::-1])
        # Batches have timesteps from 1 to T: each is mapped to one at which the student will be called.
        self.register_buffer(
            "visited", times[(torch.arange(length + 1) - 1).clamp(min=0) * len(times) // length]
        )

    def joint_loss(self, batch: Batch) -> Losses:
        """The simple loss (Eq. 7) towards the teacher's result, and a loss on the guidance."""
        batch = batch._replace(t=self.visited[batch.t])
        a, s = self.level(batch.t)
        noisy = diffuse(batch.clean, batch.noise, a, s)
        with torch.no_grad(), self.teacher_precision(noisy.device):
            latent = self.teacher.encode(batch.picture, batch.mask)
            result = self.run_teacher(noisy, batch, latent).clamp(-1, 1)
        mixed = self.options.truth * batch.clean + (1 - self.options.truth) * result
        # The noise with which the target would give the same y_t: so any kind of prediction can learn it.
        lesson = batch._replace(clean=mixed, noise=noise_from(mixed, noisy, a, s))
        guidance = self.model.encode(batch.picture, batch.mask)
        denoiser = self.simple_loss(lesson, batch.picture, guidance)
        if self.options.latent and self.model.config.guidance == self.teacher.config.guidance == "latent":
            assert guidance is not None
            assert latent is not None
            encoder = self.options.latent * invariant_loss(standardise(guidance), standardise(latent))
        else:
            encoder = self.encoder_loss(batch, guidance)
        return Losses(denoiser + encoder, denoiser, encoder)

    def teacher_precision(self, device: torch.device) -> AbstractContextManager[object]:
        """That of the student's training; float32 for a teacher whose output is divided by √ᾱ_t."""
        exact = self.teacher.config.prediction.clips
        return torch.autocast(device.type, enabled=False) if exact else nullcontext()

    def run_teacher(self, noisy: Tensor, batch: Batch, guidance: Tensor | None) -> Tensor:
        """(B, 3, H, W): where the teacher's DDIM steps lead from y_t, each picture from its own t."""
        kind, steps = self.teacher.config.predicts, self.options.teacher_steps
        anchor = Anchor(self.options.anchor, batch.picture, batch.mask)
        noisy = anchor.paste(noisy, batch.noise, *self.level(batch.t))
        for k in range(steps):
            now, then = (torch.round(batch.t - j * (batch.t / steps)).long() for j in (k, k + 1))
            now = now.clamp(min=1)
            (a, s), (a_then, s_then) = self.level(now), self.level(then)
            output = self.teacher(noisy, now, batch.picture, batch.mask, guidance)
            clean = anchor.correct(picture_from(kind, output.float(), noisy, batch.picture, a, s))
            noisy = diffuse(clean, noise_from(clean, noisy, a, s), a_then, s_then)
        return noisy

    def level(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """(B,) → √ᾱ_t and √(1 − ᾱ_t), (B, 1, 1, 1) each."""
        return self.signal[t].view(-1, 1, 1, 1), self.spread[t].view(-1, 1, 1, 1)


if __name__ == "__main__":
    main()
