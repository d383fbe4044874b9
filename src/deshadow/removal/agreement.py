"""Agreement of the parts of a long photo on how much light its shadows lack.

A part that lies wholly in a shadow shows no lit ground, so the network cannot know how bright it should be.
It takes over the light of its neighbours: two parts see the same pixels where they overlap, and there their
gains should be equal. How much each part has to change for that is found by least squares; the more lit
ground a part shows, the less it changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deshadow.image.strips import Field
from deshadow.removal.relighting import Relighting

_ENOUGH = 0.2
"""Share of lit ground with which a part is trusted as much as its neighbours."""
_LEAST = 1e-6
"""Trust in a part without lit ground."""
_FEW = 30
"""With fewer shadowed pixels in the overlap two parts cannot be compared."""
_FAINT = 0.05
"""Smallest median of the logarithm of the gain that shows the shape of a shadow."""


@dataclass(frozen=True, slots=True)
class PartLight:
    """The light that the shadows of one part lack, as the network sees it."""

    start: int
    """Where the part begins along the longer side of the photo, in pixels of the photo."""
    end: int
    relighting: Relighting
    log_gain: Field
    """(h, w, 3): the logarithm of the gain that the relighting gives, mostly 0 outside the shadows."""
    inside: NDArray[np.bool_]
    """(h, w): the selected shadows."""
    lit: float
    """Share of the part that is neither relit nor in another shadow."""


def agree(lights: Sequence[PartLight], axis: int) -> list[Relighting]:
    """The relightings of the parts along an axis, changed so that neighbours agree where they overlap."""
    # The changes c minimise Σ (c_one − c_other − difference)² over neighbours + Σ trust · c² over all parts.
    system = np.diag([(light.lit / _ENOUGH) ** 2 + _LEAST for light in lights])
    right = np.zeros((len(lights), 3))
    for place, (one, other) in enumerate(pairwise(lights)):
        gains = [_average_gain(each, other.start, one.end, axis) for each in (one, other)]
        if gains[0] is None or gains[1] is None:
            continue
        both = [place, place + 1]
        system[np.ix_(both, both)] += [[1, -1], [-1, 1]]
        right[both] += np.outer([1, -1], gains[1] - gains[0])
    changes = np.linalg.solve(system, right).astype(np.float32)
    return [_change(light, change) for light, change in zip(lights, changes, strict=True)]


def _average_gain(light: PartLight, first: int, end: int, axis: int) -> NDArray[np.float64] | None:
    """(3,): mean logarithm of the gain in the shadow between two positions of the photo; None if unknown."""
    scale = light.inside.shape[axis] / (light.end - light.start)
    along = slice(round(max(0, first - light.start) * scale), round(max(0, end - light.start) * scale))
    place = (slice(None), along) if axis else (along, slice(None))
    inside = light.inside[place]
    if inside.sum() < _FEW:
        return None
    mean: NDArray[np.float64] = light.log_gain[place][inside].mean(axis=0, dtype=np.float64)
    return mean


def _change(light: PartLight, change: Field) -> Relighting:
    """The relighting with a change (3,) of the logarithm of its gain in the shadow."""
    gain = light.log_gain.mean(axis=2)
    depth = float(np.median(gain[light.inside])) if light.inside.any() else 0.0
    known = min(1.0, light.lit / _ENOUGH) if depth > _FAINT else 0.0
    # Where the network saw the edge of the shadow, its gain shows how dark each pixel is; else the mask does.
    shade = np.float32(1 - known) * light.inside
    if known:
        shade += (gain * np.float32(1 / depth)).clip(0, np.float32(1)) * np.float32(known)
    return replace(light.relighting, level=light.relighting.level + shade[..., None] * change)
