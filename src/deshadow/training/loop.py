"""The training loop: two stages, on one process or many, that can be stopped and resumed at any moment."""

import json
import math
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from deshadow.nn.blocks import fused
from deshadow.nn.config import Config, ModelConfig
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime import checkpoint
from deshadow.system.progress import draw_bar
from deshadow.training.ahead import Batches, BatchesAhead
from deshadow.training.journal import LOG, Journal, clock
from deshadow.training.objectives import PictureError
from deshadow.training.optimizers import Muon
from deshadow.training.options import TrainingOptions
from deshadow.training.recorded import Gradients, RecordedGradients
from deshadow.training.state import STATE, WEIGHTS, State, load_snapshot
from deshadow.training.tasks import Task, task_of
from deshadow.training.world import World, join_processes

EXPLOSION = 10.0
"""A loss so many times larger than the one before is taken back."""
MOST_ROLLBACKS = 3
"""In a row, before training is given up."""


def train(
    options: TrainingOptions,
    *,
    task: Task | None = None,
    source: Any = None,
    about: Mapping[str, Any] | None = None,
) -> Any:
    """Run training to its end, or to a pause; the scores of the last validation.

    They are a `validation.Validation` of a remover, a `detection.Detection` of a detector. By default
    the task is that of the options; a source that is open already is used. `about` is what the weights
    are to say of their training beside the options.
    """
    with join_processes(options.machine.device) as world, interruptible() as asked:
        run = Run(options, world, asked, task, source, about)
        try:
            return run.go()
        finally:
            run.journal.close()


class Interrupted(Exception):  # noqa: N818 (not an error: the state is saved)
    """Training was asked to stop, and did, with its state saved."""


class Run:
    """One call of training: what is fixed in it, and where it stands."""

    def __init__(
        self,
        options: TrainingOptions,
        world: World,
        asked: dict[str, int],
        task: Task | None = None,
        source: Any = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        batch = options.optimization.batch
        if batch % world.size:
            raise ValueError(f"--batch {batch} does not divide among {world.size} processes")
        self.options, self.world, self.asked = options, world, asked
        self.task, self.about = task or task_of(options), dict(about or {})
        if world.leads:
            check_folder(options)
        torch.set_float32_matmul_precision("high")
        self.state = new_state(options, world)
        self.source = source or self.task.source(options, world.device)
        self.held = self.task.validation_set(options, self.source)
        if world.leads:
            options.out.mkdir(parents=True, exist_ok=True)
        self.journal = Journal(options.out, quiet=not world.leads)
        self.gradients = self.wrapped()
        self.batches = BatchesAhead() if world.device.type == "cuda" else Batches()
        self.began, self.checked = time.monotonic(), (self.state.images, self.state.elapsed)
        self.resumed = self.saved = self.state.elapsed
        self.standstill = self.state.standstill
        self.sums = torch.zeros(len(self.task.losses), device=world.device)
        self.next_check = self.state.images + options.machine.log_every
        self.good = self.state.snapshot()
        self.loss, self.checked_stage = math.inf, 0
        self.validated = -1
        self.rollbacks = 0
        self.scores: Any = None

    def wrapped(self) -> Gradients:
        """The way from a batch to gradients, compiled, recorded and spread as options and machine have it."""
        options, on_gpu = self.options, self.world.device.type == "cuda"
        criterion = self.task.criterion(self.state, options).to(self.world.device)
        torch.backends.cudnn.benchmark = on_gpu
        triton = fused(next(criterion.parameters())) is not None
        if options.machine.compiled if options.machine.compiled is not None else triton:
            # The networks have kernels of their own (nn/fused.py), and whole ones take minutes to compile.
            for part in criterion.modules():
                if isinstance(part, PictureError):
                    part.compile()
        if self.world.size > 1:
            # With lag or guidance that a stage leaves out, some parameters get no gradient.
            criterion = DistributedDataParallel(criterion, find_unused_parameters=True)
        recorded = on_gpu and self.world.size == 1
        # Nothing in it may lead back to the run: whoever waits for processes must go before they part.
        narrowing = partial(precision, options, self.world.device.type)
        return (RecordedGradients if recorded else Gradients)(criterion, narrowing)

    def go(self) -> Any:
        """Train until the end, a pause or a signal."""
        options, state = self.options, self.state
        self.journal.write("begin", state.images, options=options.to_json())
        self.began = time.monotonic()
        ending = "done" if self.progress() >= 1 else ""
        first = state.steps
        while not ending:
            self.step()
            if state.steps == first + 1:
                self.standstill += time.monotonic() - self.began
            asked = self.asked and self.world.size == 1  # several must agree first, at the next check
            if asked or state.images >= self.next_check or self.progress() >= 1:
                ending = self.check()
        self.save()
        if ending == "done":
            self.finish()
            assert self.scores is not None
            return self.scores
        self.journal.say(f"{ending} after {state.images:,} images; go on with --resume")
        if ending == "stopped":  # agreed among all processes, though the signal may have reached one alone
            raise Interrupted(signal.Signals(self.asked.get("signal", signal.SIGTERM)).name)
        return self.scores or self.validate()

    def step(self) -> None:
        """One step of the optimizer."""
        options, state, world = self.options, self.state, self.world
        if self.stage() == 2 and not state.pretrained:
            state.end_stage_one()
        share = options.optimization.batch // world.size
        for group in state.optimizer.param_groups:
            group["lr"] = options.optimization.rate * rate_at(options, self.progress(), state.images)
        torch.manual_seed((options.seed << 40) + state.images + world.rank)  # for dropout, if there is any
        first = state.images + world.rank * share
        batch = self.batches.take(self.source, first, share)
        losses = self.gradients(batch, self.stage() == 1)
        self.batches.prepare(self.source, first + options.optimization.batch, share)
        encoder = state.model.encoder if isinstance(state.model, LFGDiffusion) else None
        if options.lag and state.steps % (options.lag + 1) < options.lag and encoder is not None:
            encoder.zero_grad(set_to_none=True)
        torch.nn.utils.clip_grad_norm_(state.model.parameters(), options.optimization.clip)
        state.optimizer.step()
        state.model.zero_grad(set_to_none=True)
        state.images += options.optimization.batch
        state.steps += 1
        state.follow(options.optimization.batch, options.optimization.ema)
        self.sums += torch.stack([loss.float() for loss in losses])

    def progress(self) -> float:
        """How much of the run is done, 0 to 1: in images, in minutes, or in whichever is further."""
        options, images = self.options, self.state.images
        by_images = images / options.length.images if options.length.images else 0.0
        if not options.length.minutes:
            return by_images
        by_clock = share_by_clock(images, *self.checked, self.state.standstill, 60 * options.length.minutes)
        return max(by_images, by_clock)

    def stage(self) -> int:
        """Stage one teaches the latent; a model without one begins with stage two."""
        if self.state.pretrained or not has_latent(self.state.model.config):
            return 2
        return 1 if self.progress() < self.options.objective.pretrain else 2

    def check(self) -> str:
        """Look at the clock and the losses; log, save, validate. Says how the call ends, if it does."""
        options, state, world = self.options, self.state, self.world
        before, seen = self.checked[0], state.images - self.checked[0]
        values = world.mean((self.sums * (options.optimization.batch / seen)).tolist())
        now = self.resumed + time.monotonic() - self.began
        elapsed, state.standstill, stop = world.agreed([now, self.standstill, float(bool(self.asked))])
        speed = seen / (elapsed - self.checked[1])
        self.checked, state.elapsed = (state.images, elapsed), elapsed
        self.next_check = state.images + options.machine.log_every
        self.sums.zero_()
        if not self.healthy(values[0]):
            return ""
        self.tell(values, speed)
        if elapsed - self.saved >= options.machine.save_every:
            self.save()
        if state.images // options.validation.validate_every > before // options.validation.validate_every:
            self.validate()
        if self.progress() >= 1:
            return "done"
        if stop:
            return "stopped"
        if options.length.pause_after and elapsed - self.resumed >= 60 * options.length.pause_after:
            return "paused"
        return ""

    def healthy(self, loss: float) -> bool:
        """Whether the loss is one to go on with; if not, the last good weights are back."""
        if self.stage() != self.checked_stage:  # a stage has losses of its own: this one is of both
            self.loss, self.checked_stage = math.inf, self.stage()
            return math.isfinite(loss) or self.rolled_back(loss)
        if math.isfinite(loss) and loss <= EXPLOSION * self.loss:
            self.loss, self.rollbacks = loss, 0
            return True
        return self.rolled_back(loss)

    def rolled_back(self, loss: float) -> bool:
        """Take the last good weights again; False, as the loss is not healthy."""
        self.rollbacks += 1
        if self.rollbacks > MOST_ROLLBACKS:
            raise ValueError(f"the loss is {loss} again and again: begin anew with a smaller --rate")
        images, elapsed, standstill = self.state.images, self.state.elapsed, self.state.standstill
        self.state.restore(self.good)
        self.state.images, self.state.elapsed, self.state.standstill = images, elapsed, standstill
        self.journal.write("rollback", images, loss=str(loss), to=self.good.images)
        self.journal.say(f"loss {loss} at {images:,} images: back to the weights of {self.good.images:,}")
        return False

    def tell(self, losses: list[float], speed: float) -> None:
        """Log the losses, and move the bar."""
        state = self.state
        rate = state.optimizer.param_groups[0]["lr"]
        named = dict(zip(self.task.losses, losses, strict=True))
        progress, stage = self.progress(), self.stage()
        self.journal.write("train", state.images, stage=stage, **named, rate=rate, speed=speed)
        left = (1 - progress) / progress * state.elapsed if progress else 0.0
        scores = f"  {self.task.headline(self.scores)}" if self.scores else ""
        text = f"{draw_bar(progress)} {progress:4.0%}  stage {stage}  loss {named['total']:.4f}{scores}"
        self.journal.show(f"{text}  {speed:,.0f} images/s  {clock(left)} left")

    def validate(self) -> Any:
        """Score the averaged weights."""
        values = [0.0] * len(self.task.scores._fields)
        if self.world.leads:
            values = list(self.task.validate(self.state, self.held, self.options))
        self.scores = self.task.scores(*self.world.agreed(values))
        self.validated = self.state.images
        self.journal.write("validation", self.state.images, **self.scores._asdict())
        self.journal.say(f"{self.state.images:>9,} images: {self.task.describe(self.scores)}")
        return self.scores

    def save(self) -> None:
        """Write the state, and the averaged weights in half precision."""
        self.good, self.saved = self.state.snapshot(), self.state.elapsed
        if self.world.leads:
            self.good.save(self.options.out, self.options.to_json())
            recipe = json.dumps(self.options.changes() | self.about)
            notes = {"images": str(self.state.images), "recipe": recipe}
            checkpoint.save(self.options.out / WEIGHTS, self.state.average, notes=notes)

    def finish(self) -> None:
        """The last validation, and pictures to look at."""
        if self.validated != self.state.images:
            self.validate()
        if self.world.leads:
            self.task.draw(self.state.average, self.held, self.options, self.options.out / "samples.png")
        self.journal.write("end", self.state.images, elapsed=self.state.elapsed)


def has_latent(config: Config) -> bool:
    """Whether a model is guided by a latent, which stage one teaches."""
    return isinstance(config, ModelConfig) and config.guidance == "latent"


def precision(options: TrainingOptions, device: str) -> AbstractContextManager[object]:
    """Autocast to bfloat16, where that is wanted."""
    wanted = options.machine.bfloat16 if options.machine.bfloat16 is not None else device == "cuda"
    return torch.autocast(device, torch.bfloat16) if wanted else nullcontext()


def new_state(options: TrainingOptions, world: World) -> State:
    """A model to begin or to go on with."""
    torch.manual_seed(options.seed)
    model = task_of(options).model(options)
    saved = load_snapshot(options.out, options.network.config) if options.resume else None
    layout = torch.channels_last if world.device.type == "cuda" else torch.contiguous_format
    model = model.to(world.device, memory_format=layout).train()
    average = deepcopy(model).eval().requires_grad_(requires_grad=False)
    frozen, objective = None, options.objective
    if has_latent(model.config) and objective.invariant and objective.invariant_target == "frozen":
        frozen = deepcopy(average.encoder)
    state = State(model, average, new_optimizer(options, model, world), frozen)
    if saved is not None:
        state.restore(saved)
    return state


def new_optimizer(options: TrainingOptions, model: torch.nn.Module, world: World) -> torch.optim.AdamW:
    """Muon or AdamW, as the options have it."""
    chosen, fused = options.optimization, world.device.type == "cuda"
    rate, decay = chosen.rate, chosen.weight_decay
    if chosen.optimizer == "muon":
        return Muon(model, lr=rate, weight_decay=decay, fused=fused)
    return torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.99), weight_decay=decay, fused=fused)


def share_by_clock(images: int, checked: int, elapsed: float, standstill: float, budget: float) -> float:
    """The share of the images that will have been seen when `budget` seconds are over.

    `checked` images were seen when `elapsed` seconds were over, `standstill` of them spent compiling. That
    takes its time but moves nothing: a run that spent a quarter of its budget on it has only begun.
    """
    pace = (elapsed - standstill) / checked if checked else 0.0
    # Between two checks time is told by the pace, so that all processes agree on it.
    left = budget - elapsed - (images - checked) * pace
    return images * pace / (images * pace + left) if left > 0 else 1.0


def rate_at(options: TrainingOptions, progress: float, images: int) -> float:
    """The share of the learning rate at a point of the run."""
    chosen = options.optimization
    risen = min(1.0, (images + chosen.batch) / chosen.warmup) if chosen.warmup else 1.0
    if chosen.decay == "constant":
        return risen
    return risen * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def check_folder(options: TrainingOptions) -> None:
    """Refuse to begin a run over another one, or one that has only just begun."""
    if not options.resume and ((options.out / STATE).exists() or (options.out / LOG).exists()):
        raise ValueError(f"{options.out} holds a run already: go on with --resume, or name another --out")


@contextmanager
def interruptible() -> Iterator[dict[str, int]]:
    """SIGINT and SIGTERM are noted down, to be heeded when a step is done."""
    asked: dict[str, int] = {}

    def note(number: int, _: object) -> None:
        asked["signal"] = number

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
