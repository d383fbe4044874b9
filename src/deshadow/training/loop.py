"""The training loop: two stages, on one process or many, that can be stopped and resumed at any moment."""

import math
import signal
from collections.abc import Mapping
from typing import Any

import torch

from deshadow.nn.lfg import LFGDiffusion
from deshadow.training.ahead import Batches, BatchesAhead
from deshadow.training.checks import Keeper, Validator, log_losses, warn_of_other_options
from deshadow.training.clock import Clock
from deshadow.training.endings import Interrupted, catch_signals
from deshadow.training.journal import Journal
from deshadow.training.options import Optimization, TrainingOptions
from deshadow.training.setup import check_options, has_latent, new_gradients, new_state
from deshadow.training.tasks import Task, task_of
from deshadow.training.world import World, join_processes


def train(
    options: TrainingOptions,
    *,
    task: Task | None = None,
    source: Any = None,
    about: Mapping[str, Any] | None = None,
) -> Any:
    """Train to the end, or to a pause, and return the scores of the last validation; None if there was none.

    These are a `validation.Validation` for a remover, a `detector_validation.DetectorValidation` for a
    detector. `task` is by default that of the options. `source` saves opening the data again; `about` is what
    the weights are to say of their training beside the options.
    """
    with join_processes(options.machine.device) as world, catch_signals() as caught:
        run = Run(options, world, caught, task, source, about)
        try:
            return run.go()
        finally:
            run.journal.close()


class Run:
    """One call of training."""

    def __init__(
        self,
        options: TrainingOptions,
        world: World,
        caught: dict[str, int],
        task: Task | None = None,
        source: Any = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        check_options(options, world)
        self.options, self.world, self.caught = options, world, caught
        self.task = task or task_of(options)
        self.state = new_state(options, self.task, world)
        self.source = source or self.task.source(options, world.device)
        held = self.task.validation_set(options, self.source)
        self.validator = Validator(self.task, options, held, world, self.state.images)
        if world.leads:
            options.out.mkdir(parents=True, exist_ok=True)
        self.journal = Journal(options.out, resume=options.resume, quiet=not world.leads)
        self.gradients = new_gradients(options, self.task, self.state, world)
        self.batches = BatchesAhead() if world.device.type == "cuda" else Batches()
        self.clock = Clock(options, self.state, world)
        self.keeper = Keeper(options, self.state, world, about or {})
        self.sums = torch.zeros(len(self.task.losses), device=world.device)

    def go(self) -> Any:
        """Train until the end, a pause or a signal."""
        if self.options.resume and self.world.leads:
            warn_of_other_options(self.journal, self.options)
        self.journal.write("begin", self.state.images, options=self.options.to_json())
        self.clock.start()
        ending = "done" if self.clock.progress() >= 1 else ""
        while not ending:
            self.step()
            self.clock.count_step()
            asked = self.caught and self.world.size == 1  # several processes must agree first, at a check
            if asked or self.clock.check_is_due():
                ending = self.check()
        return self.end(ending)

    def step(self) -> None:
        """Batch → losses → gradients → step → average."""
        options, state = self.options.optimization, self.state
        pretraining = self.stage() == 1
        if not pretraining and not state.pretrained:
            state.end_stage_one()
        for group in state.optimizer.param_groups:
            group["lr"] = options.rate * rate_share(options, self.clock.progress(), state.images)
        torch.manual_seed((self.options.seed << 40) + state.images + self.world.rank)  # for dropout
        share = options.batch // self.world.size
        first = state.images + self.world.rank * share
        batch = self.batches.take(self.source, first, share)
        losses = self.gradients(batch, pretraining)
        self.batches.prepare(self.source, first + options.batch, share)
        self.hold_encoder_back()
        torch.nn.utils.clip_grad_norm_(state.model.parameters(), options.clip or math.inf)
        state.optimizer.step()
        state.model.zero_grad(set_to_none=True)
        state.images += options.batch
        state.steps += 1
        state.follow(options.batch, options.ema)
        self.sums += torch.stack([loss.float() for loss in losses])

    def stage(self) -> int:
        """Stage one teaches the latent; a model without one begins with stage two."""
        if self.state.pretrained or not has_latent(self.state.model.config):
            return 2
        return 1 if self.clock.progress() < self.options.objective.pretrain else 2

    def hold_encoder_back(self) -> None:
        """With --lag, drop the encoder's gradients in all steps but one of lag + 1."""
        lag, model = self.options.lag, self.state.model
        if not lag or self.state.steps % (lag + 1) == lag or not isinstance(model, LFGDiffusion):
            return
        if model.encoder is not None:
            model.encoder.zero_grad(set_to_none=True)

    def check(self) -> str:
        """Check clock and losses; log, save and validate. Returns how the call ends, or an empty text."""
        state = self.state
        steps = (state.images - self.clock.checked[0]) / self.options.optimization.batch
        losses = self.world.mean((self.sums / steps).tolist())
        self.sums.zero_()
        speed, stop = self.clock.check(asked_to_stop=bool(self.caught))
        if not self.keeper.accepts(losses[0], self.stage()):
            self.keeper.roll_back(losses[0], self.journal)
            return ""
        named = dict(zip(self.task.losses, losses, strict=True))
        log_losses(self.journal, self.clock, named, self.stage(), speed, self.validator.headline())
        if self.keeper.is_due():
            self.keeper.save()
        if self.validator.is_due(state.images):
            self.validator.validate(state, self.journal)
        if self.clock.progress() >= 1:
            return "done"
        if stop:
            return "stopped"
        return "paused" if self.clock.pause_is_due() else ""

    def end(self, ending: str) -> Any:
        """Save, and validate a run that is done; the last scores, unless a signal asked to stop."""
        self.keeper.save()
        if ending == "done":
            scores = self.validator.validate(self.state, self.journal)
            self.validator.draw(self.state)
            self.journal.write("end", self.state.images, elapsed=self.state.elapsed)
            return scores
        self.journal.say(f"{ending} after {self.state.images:,} images; continue with --resume")
        if ending == "stopped":  # all processes agreed to, though the signal may have reached one alone
            raise Interrupted(signal.Signals(self.caught.get("signal", signal.SIGTERM)).name)
        return self.validator.scores  # a pause ends a call on time: a validation would take long


def rate_share(options: Optimization, progress: float, images: int) -> float:
    """The learning rate at a point of the run, as a share of --rate."""
    risen = min(1.0, (images + options.batch) / options.warmup) if options.warmup else 1.0
    if options.decay == "constant":
        return risen
    return risen * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
