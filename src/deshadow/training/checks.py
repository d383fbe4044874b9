"""What a run does beside its steps, every few thousand images: it logs, validates, saves, or rolls back."""

import json
import math
from collections.abc import Mapping
from typing import Any

from deshadow.runtime import checkpoint
from deshadow.system.progress import draw_bar
from deshadow.training.arguments import flag_of, list_defaults
from deshadow.training.clock import Clock
from deshadow.training.journal import Journal, format_time, read_log
from deshadow.training.options import TrainingOptions
from deshadow.training.state import WEIGHTS, State
from deshadow.training.tasks import Task
from deshadow.training.world import World

EXPLOSION = 10.0
"""A loss that is this many times larger than the one before is rolled back."""
MOST_ROLLBACKS = 3
"""Number of rollbacks in a row after which the run ends with an error."""
MAY_CHANGE = {
    *("out", "resume", "init", "encoder", "data", "backgrounds", "occluders", "extra", "masked", "lit"),
    *("skip_problems", "images", "minutes", "pause_after", "device", "compiled", "bfloat16"),
    *("save_every", "log_every", "validate_every", "val_count", "val_steps", "val_anchor"),
}
"""Options that may differ when a run is resumed: where files lie, its length, how it is computed."""


def warn_of_other_options(journal: Journal, options: TrainingOptions) -> None:
    """Say which options of a resumed run are not those of its last call: they change what it learns."""
    calls = [line["options"] for line in read_log(options.out) if "options" in line]
    if not calls:
        return
    before = list_defaults(TrainingOptions) | json.loads(calls[-1])
    changed = [
        f"{flag_of(name)} {value} (before: {before[name]})"
        for name, value in json.loads(options.to_json()).items()
        if name not in MAY_CHANGE and value != before[name]
    ]
    if changed:
        journal.say(f"resumed with other options: {', '.join(changed)}")


def log_losses(
    journal: Journal, clock: Clock, losses: Mapping[str, float], stage: int, speed: float, headline: str
) -> None:
    """One line of the log, and the bar on the terminal."""
    state, progress = clock.state, clock.progress()
    rate = state.optimizer.param_groups[0]["lr"]
    journal.write("train", state.images, stage=stage, **losses, rate=rate, speed=speed)
    text = f"{draw_bar(progress)} {progress:4.0%}  stage {stage}  loss {losses['total']:.4f}{headline}"
    journal.show(f"{text}  {speed:,.0f} images/s  {format_time(clock.seconds_left())} left")


class Validator:
    """Scores the averaged weights on the held-out pictures."""

    def __init__(self, task: Task, options: TrainingOptions, held: Any, world: World, images: int) -> None:
        """`images` is where the run stands."""
        self.task, self.options, self.held, self.world = task, options, held, world
        self.scores: Any = None
        self.validated, self.checked = -1, images

    def is_due(self, images: int) -> bool:
        """Whether a multiple of --validate-every was passed since the last call."""
        every, before = self.options.validation.validate_every, self.checked
        self.checked = images
        return images // every > before // every

    def validate(self, state: State, journal: Journal) -> Any:
        """The scores, the same in all processes; those of the last validation if nothing has changed."""
        if self.validated == state.images:
            return self.scores
        values = [0.0] * len(self.task.scores._fields)
        if self.world.leads:
            values = list(self.task.validate(state, self.held, self.options))
        self.scores, self.validated = self.task.scores(*self.world.broadcast(values)), state.images
        journal.write("validation", state.images, **self.scores._asdict())
        journal.say(f"{state.images:>9,} images: {self.task.describe(self.scores)}")
        return self.scores

    def headline(self) -> str:
        """The score that matters most, for the bar."""
        return f"  {self.task.headline(self.scores)}" if self.scores else ""

    def draw(self, state: State) -> None:
        """Write pictures to look at into the run's folder."""
        if self.world.leads:
            self.task.draw(state.average, self.held, self.options, self.options.out / "samples.png")


class Keeper:
    """Saves the state, and brings the last saved one back where the loss explodes."""

    def __init__(
        self, options: TrainingOptions, state: State, world: World, about: Mapping[str, Any]
    ) -> None:
        self.options, self.state, self.world, self.about = options, state, world, about
        self.good, self.saved = state.snapshot(), state.elapsed
        self.loss, self.stage = math.inf, 0
        self.rollbacks = 0

    def is_due(self) -> bool:
        """Whether the last save was --save-every seconds ago."""
        return self.state.elapsed - self.saved >= self.options.machine.save_every

    def save(self) -> None:
        """Write the state, and the averaged weights in half precision."""
        self.good, self.saved = self.state.snapshot(), self.state.elapsed
        if self.world.leads:
            self.good.save(self.options.out, self.options.to_json())
            recipe = json.dumps(self.options.changes() | dict(self.about))
            notes = {"images": str(self.state.images), "recipe": recipe}
            checkpoint.save_model(self.options.out / WEIGHTS, self.state.average, notes=notes)

    def accepts(self, loss: float, stage: int) -> bool:
        """Whether loss and weights are finite, and the loss not much above the one before in this stage."""
        if not self.state.is_finite():
            return False
        if stage != self.stage:  # the loss is a mean over both stages, each of which has its own size
            self.loss, self.stage = math.inf, stage
            return math.isfinite(loss)
        if not (math.isfinite(loss) and loss <= EXPLOSION * self.loss):
            return False
        self.loss, self.rollbacks = loss, 0
        return True

    def roll_back(self, loss: float, journal: Journal) -> None:
        """Restore the last good weights. Images, steps and time go on, so that other images follow."""
        self.rollbacks += 1
        if self.rollbacks > MOST_ROLLBACKS:
            raise ValueError(
                f"the loss is {loss} after several rollbacks: start a new run with a smaller --rate"
            )
        state = self.state
        images, steps, elapsed, standstill = state.images, state.steps, state.elapsed, state.standstill
        state.restore(self.good)
        state.images, state.steps, state.elapsed, state.standstill = images, steps, elapsed, standstill
        journal.write("rollback", images, loss=str(loss), to=self.good.images)
        journal.say(f"loss {loss} at {images:,} images: back to the weights of {self.good.images:,}")
