"""Balance: the colour of the light inside a removed shadow, set by what lies beyond its edge.

A network that knows the shadows of one camera leaves a cast in those of another. The same ground usually goes
on beyond the edge of a shadow, so the colours on both sides say what the cast is. How bright they are says
much less: that is left to the network.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deshadow.image.colour import linear
from deshadow.image.filters import Field, box_filter
from deshadow.image.morphology import dilate
from deshadow.removal.relight import Relighting, log_luminance

_NEAR, _FAR = 3, 10
"""Where the two bands along the edge begin and end, in pixels of a picture whose longer side is 256."""
_DARK = 0.003
"""Linear light that is added before a logarithm is taken."""
_SHARE = 0.9
"""Of the cast that is taken away where both sides agree on it all along the edge."""
_SPREAD = 0.05
"""Deviation of the cast along the edge, in logarithms, at which half of that is left."""
_MOST = 0.25
"""Logarithm of the largest cast that is taken away."""
_FEW = 30
"""Pixels of the edge: fewer say nothing."""


def balanced(
    relighting: Relighting, shadow: Field, mask: Field, stays: NDArray[np.bool_] | None
) -> Relighting:
    """The relighting (h, w) of a small picture without the cast that it has inside the mask.

    `stays` (h, w) is what is in the shadow still, and so no measure.
    """
    before = linear(shadow)
    log_gain = relighting.slope * log_luminance(before)[..., None] + relighting.level
    inside = mask > 0.5
    found = cast(before * np.exp(log_gain) + relighting.lift, inside, stays)
    gain = log_gain.mean(axis=2)
    depth = float(np.median(gain[inside])) if inside.any() else 0.0
    if depth < 0.05 or not found.any():
        return relighting
    shade = (gain / np.float32(depth)).clip(0, 1)[..., None]
    return replace(relighting, level=relighting.level - shade * found)


def cast(light: Field, inside: NDArray[np.bool_], stays: NDArray[np.bool_] | None = None) -> Field:
    """(h, w, 3) linear light, (h, w) → (3,): logarithm of the cast inside, less where the edge disagrees."""
    scale = max(inside.shape) / 256
    near, far = (max(1, round(reach * scale)) for reach in (_NEAR, _FAR))
    within, beyond = (band(side, near, far) for side in (~inside, inside))
    if stays is not None:
        beyond = beyond & ~stays
    edge = band(inside, 0, 1) | band(~inside, 0, 1)
    logs = np.log(light.clip(0) + np.float32(_DARK))
    colour = logs - logs.mean(axis=2, keepdims=True)
    (inner, some), (outer, more) = (near_means(colour, side, far) for side in (within, beyond))
    known = edge & (some > 0.08) & (more > 0.08)
    if known.sum() < _FEW:
        return np.zeros(3, np.float32)
    steps = (inner - outer)[known]
    middle = np.median(steps, axis=0)
    spread = float(np.median(np.abs(steps - middle), axis=0).mean())
    found: Field = (_SHARE / (1 + (spread / _SPREAD) ** 2) * middle).clip(-_MOST, _MOST).astype(np.float32)
    return found


def band(side: NDArray[np.bool_], near: int, far: int) -> NDArray[np.bool_]:
    """(h, w) → what lies more than `near` and at most `far` pixels beyond it."""
    large, small = (dilate(side.astype(np.float32), reach) > 0.5 for reach in (far, near))
    beyond: NDArray[np.bool_] = large & ~small
    return beyond


def near_means(values: Field, side: NDArray[np.bool_], radius: int) -> tuple[Field, Field]:
    """(h, w, 3), (h, w) → means over the part of each square that is on this side, and how large it is."""
    share = box_filter(side.astype(np.float32), radius)
    means = box_filter(values * side[..., None].astype(np.float32), radius)
    return (means / share[..., None].clip(1e-6)).astype(np.float32, copy=False), share
