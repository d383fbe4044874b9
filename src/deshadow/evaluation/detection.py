"""How well a mask of shadows was found."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Confusion:
    """Pixels by what they are and what they were taken for; sums of these pool a set."""

    found: int = 0
    """Shadow taken for shadow."""
    missed: int = 0
    """Shadow taken for none."""
    invented: int = 0
    """None taken for shadow."""
    spared: int = 0
    """None taken for none."""

    def __add__(self, other: "Confusion") -> "Confusion":
        return Confusion(
            self.found + other.found,
            self.missed + other.missed,
            self.invented + other.invented,
            self.spared + other.spared,
        )

    @property
    def miss_rate(self) -> float:
        """Percent of the shadow that was missed; nan if there is none."""
        shadow = self.found + self.missed
        return 100 * self.missed / shadow if shadow else math.nan

    @property
    def invention_rate(self) -> float:
        """Percent of the rest that was taken for shadow; nan if there is none."""
        rest = self.invented + self.spared
        return 100 * self.invented / rest if rest else math.nan

    @property
    def balanced_error_rate(self) -> float:
        """Percent: the mean of the shares of shadow missed and of the rest invented; nan if one is empty."""
        return (self.miss_rate + self.invention_rate) / 2

    @property
    def iou(self) -> float:
        """Intersection over union of the two masks; 1 when both are empty."""
        union = self.found + self.missed + self.invented
        return self.found / union if union else 1.0


def confusion(mask: NDArray[np.uint8], truth: NDArray[np.uint8]) -> Confusion:
    """(H, W), (H, W), shadow above 127 → the pixels by what they are and what they were taken for."""
    taken, shadow = mask > 127, truth > 127
    found, all_taken, all_shadow = ((taken & shadow).sum(), taken.sum(), shadow.sum())
    return Confusion(
        int(found),
        int(all_shadow - found),
        int(all_taken - found),
        int(mask.size - all_taken - all_shadow + found),
    )
