"""How well a detected mask of shadows agrees with the true one."""

import math
from dataclasses import dataclass
from typing import Any

Array = Any
"""A numpy array or a tensor."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of pixels by what they are and what they were detected as; confusions add up over a set."""

    true_positives: int = 0
    """Shadow detected as shadow."""
    false_negatives: int = 0
    """Shadow that was not detected."""
    false_positives: int = 0
    """Lit surface detected as shadow."""
    true_negatives: int = 0
    """Lit surface detected as such."""

    def __add__(self, other: "Confusion") -> "Confusion":
        return Confusion(
            self.true_positives + other.true_positives,
            self.false_negatives + other.false_negatives,
            self.false_positives + other.false_positives,
            self.true_negatives + other.true_negatives,
        )

    @property
    def false_negative_rate(self) -> float:
        """Percent of the shadow that was not detected; nan if there is no shadow."""
        shadow = self.true_positives + self.false_negatives
        return 100 * self.false_negatives / shadow if shadow else math.nan

    @property
    def false_positive_rate(self) -> float:
        """Percent of the lit surface that was detected as shadow; nan if all is shadow."""
        lit = self.false_positives + self.true_negatives
        return 100 * self.false_positives / lit if lit else math.nan

    @property
    def balanced_error_rate(self) -> float:
        """Percent: the mean of the false-negative and the false-positive rate; nan if one is."""
        return (self.false_negative_rate + self.false_positive_rate) / 2

    @property
    def iou(self) -> float:
        """Intersection over union of the two masks; 1 when both are empty."""
        union = self.true_positives + self.false_negatives + self.false_positives
        return self.true_positives / union if union else 1.0


def confusion(mask: Array, truth: Array) -> Confusion:
    """Detected and true mask (…), bool or 8 bits with shadow above 127 → the counts of their pixels."""
    detected, shadow = (_as_bool(mask), _as_bool(truth))
    both, all_detected, all_shadow = (int(each.sum()) for each in (detected & shadow, detected, shadow))
    lit = math.prod(detected.shape) - all_shadow
    return Confusion(both, all_shadow - both, all_detected - both, lit - (all_detected - both))


def _as_bool(mask: Array) -> Array:
    return mask if str(mask.dtype).endswith("bool") else mask > 127
