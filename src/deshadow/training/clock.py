"""The clock of a run: how far it has got in images and minutes, and when it ends."""

import time

from deshadow.training.options import TrainingOptions
from deshadow.training.state import State
from deshadow.training.world import World


class Clock:
    """Counts images and seconds. At every check all processes agree on the time, and so on the progress."""

    def __init__(self, options: TrainingOptions, state: State, world: World) -> None:
        self.length, self.log_every = options.length, options.machine.log_every
        self.state, self.world = state, world
        self.began, self.before = time.monotonic(), state.elapsed
        self.standstill = state.standstill
        self.checked = state.images, state.elapsed
        self.first_step = state.steps

    def start(self) -> None:
        """Start the clock: the first step begins now."""
        self.began = time.monotonic()

    def count_step(self) -> None:
        """Count a step. The first one of a call compiles, which is no progress."""
        if self.state.steps == self.first_step + 1:
            self.standstill += time.monotonic() - self.began

    def progress(self) -> float:
        """How much of the run is done, 0 to 1: by images or by minutes, whichever is further."""
        images = self.state.images
        by_images = images / self.length.images if self.length.images else 0.0
        if not self.length.minutes:
            return by_images
        by_clock = share_by_clock(images, *self.checked, self.state.standstill, 60 * self.length.minutes)
        return max(by_images, by_clock)

    def check_is_due(self) -> bool:
        """Whether it is time for the next line of the log, or the run is over."""
        return self.state.images >= self.checked[0] + self.log_every or self.progress() >= 1

    def check(self, asked_to_stop: bool) -> tuple[float, bool]:
        """Bring the state's time up to date: images/s since the last check, and whether to stop."""
        images, elapsed = self.checked
        now = self.before + time.monotonic() - self.began
        agreed = self.world.broadcast([now, self.standstill, float(asked_to_stop)])
        self.state.elapsed, self.state.standstill, stop = agreed
        self.checked = self.state.images, self.state.elapsed
        return (self.state.images - images) / (self.state.elapsed - elapsed), bool(stop)

    def pause_is_due(self) -> bool:
        """Whether this call has used up its time."""
        limit = self.length.pause_after
        return limit is not None and self.state.elapsed - self.before >= 60 * limit

    def seconds_left(self) -> float:
        """How long the run will take from here on, at its mean speed."""
        progress = self.progress()
        return (1 - progress) / progress * self.state.elapsed if progress else 0.0


def share_by_clock(images: int, checked: int, elapsed: float, standstill: float, budget: float) -> float:
    """The share of the images that will have been seen when `budget` seconds are over.

    `checked` images were seen when `elapsed` seconds were over, `standstill` of them spent compiling. That
    takes time but moves nothing: a run that spent a quarter of its budget on it has only begun.
    """
    pace = (elapsed - standstill) / checked if checked else 0.0
    # Between two checks time is estimated from the pace, so that all processes agree on it.
    left = budget - elapsed - (images - checked) * pace
    return images * pace / (images * pace + left) if left > 0 else 1.0
