"""Figures and counts of an evaluation in words, for its tables and its page."""

import math

from deshadow.evaluation.protocol import Evaluation
from deshadow.evaluation.record import count_unusual

TITLES = {"shadow": "shadow", "non_shadow": "non-shadow", "all": "all"}


def count_line(evaluation: Evaluation) -> str:
    """The counts that are not zero, in words."""
    words = {
        "empty_masks": "with an empty mask",
        "full_masks": "with a full mask",
        "grey": "without colour",
        "resized_results": "whose result had another size",
        "problems": "left out",
    }
    found, pictures = count_unusual(evaluation), len(evaluation.pictures)
    if found["resized_results"] == pictures:
        del found["resized_results"]  # so works the method: not worth mentioning
    parts = [f"{count:,} {words[name]}" for name, count in found.items() if count]
    return ", ".join([f"{pictures:,} picture{'s' * (pictures != 1)}", *parts])


def number(value: float | None, digits: int = 2) -> str:
    """A figure, or a dash where there is none."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def millions(evaluation: Evaluation) -> str:
    """The parameters of a method in millions."""
    parameters = evaluation.method.parameters
    return "–" if parameters is None else f"{parameters / 1e6:.2f}" if parameters else "0"
