"""One shadow removed, the others meant to stay."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deshadow.evaluation.metrics import lab_difference

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]


class InstanceScore(NamedTuple):
    """Mean absolute LAB differences, summed over the channels."""

    inside: float
    """Result to truth in the target."""
    outside: float
    """Result to input everywhere else, the other shadows included: what was changed that should stay."""
    others: float
    """Result to input in the other shadows alone; nan where there are none or they are not known."""


def score_instance(
    result: Pixels, picture: Pixels, truth: Pixels, target: Mask, others: Mask
) -> InstanceScore:
    """(H, W, 3) three times, (H, W) twice: the shadow to remove, and all the others."""
    return InstanceScore(
        lab_difference(result, truth, target),
        lab_difference(result, picture, ~target),
        lab_difference(result, picture, others & ~target),
    )
