"""Guidances of a denoiser as pictures for people: the latent in grey, the estimates of Tab. 4 in colour."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TITLES = {"latent": "latent", "colour": "colour map", "coarse": "coarse picture"}
"""What each kind of guidance is called under its picture."""
_PERCENTILES = 1.0, 99.0


class Span(NamedTuple):
    """The values that are drawn black and white; those between are drawn as levels in equal steps."""

    black: float
    white: float

    def __str__(self) -> str:
        return f"{self.black:.2f} to {self.white:.2f}"


_FIXED = {"colour": Span(-1, 1 / 3), "coarse": Span(-1, 1)}


def find_span(guidance: NDArray[np.float32], kind: str) -> Span:
    """The span in which a guidance of any shape is drawn: of a latent from its 1st percentile to its 99th.

    A latent has no unit. A coarse picture has the values of pictures, −1 to 1. In a colour map the three
    shares of the light add up to 1, so that grey is −1/3 in each channel, in the middle of its span.
    """
    if kind in _FIXED:
        return _FIXED[kind]
    black, white = np.percentile(guidance, _PERCENTILES)
    return Span(float(black), float(white))


def draw_guidance(guidance: NDArray[np.float32], span: Span) -> NDArray[np.uint8]:
    """(…, 1 or 3, H, W) → (…, H, W, 3) of 8 bits."""
    # What is the same everywhere is drawn grey, not as its rounding errors.
    width = max(span.white - span.black, 1e-3)
    middle = (span.black + span.white) / 2
    levels = (((guidance - middle) / width + 0.5) * 255).round().clip(0, 255).astype(np.uint8)
    last = np.moveaxis(levels, -3, -1)
    return np.array(np.broadcast_to(last, (*last.shape[:-1], 3)), order="C")
