"""Luminance and ratios of linear light, with limits where a pixel is too dark to tell."""

import numpy as np

from deshadow.image.colour import LUMINANCE
from deshadow.image.strips import Field

DARK = 0.003
"""Linear light added before a ratio or a logarithm is taken: darker pixels are mostly noise."""
FAINT = 0.001
"""Smallest mean of a neighbourhood in a ratio; a mean is less noisy than a pixel, so it may be darker."""
MOST = np.float32(np.log(16.0))
"""Logarithm of the largest gain: a darker shadow has no detail that could be restored."""


def measure_luminance(light: Field) -> Field:
    """(…, 3) linear light → (…): as a sum, since the threads of BLAS wait for each other on busy cores."""
    red, green, blue = (np.float32(share) * light[..., place] for place, share in enumerate(LUMINANCE))
    luminance: Field = red + green + blue
    return luminance


def log_luminance(light: Field) -> Field:
    """(…, 3) linear light → (…): the logarithm of the luminance plus a little, so that black is finite."""
    brightness: Field = np.log(measure_luminance(light) + np.float32(DARK))
    return brightness


def measure_ratio(before: Field, after: Field) -> Field:
    """(h, w, 3) linear light, twice → (h, w): the logarithm of their ratio, the mean over the channels."""
    ratio: Field = np.log((after + DARK) / (before + DARK)).mean(axis=2).clip(-1, MOST)
    return ratio


def divide_means(before: Field, after: Field) -> Field:
    """(h, w, 3) means of linear light, twice → (h, w, 3): the logarithm of their ratio."""
    after, before = np.maximum(after, np.float32(FAINT)), np.maximum(before, np.float32(FAINT))
    gain: Field = np.log(after / before).clip(-1, MOST)
    return gain
