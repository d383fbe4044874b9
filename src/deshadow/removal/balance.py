"""Balance: corrects the colour inside a removed shadow by the colours just outside its edge.

A network that was trained on the photos of one camera leaves a colour cast in those of another. The same
ground usually continues beyond the edge of a shadow, so the difference of the colours on both sides is the
cast. The difference in brightness is less reliable, and is left to the network.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deshadow.image.colour import srgb_to_linear
from deshadow.image.filters import box_filter
from deshadow.image.morphology import dilate
from deshadow.image.strips import Field
from deshadow.removal.light import DARK
from deshadow.removal.relighting import Relighting

_NEAR, _FAR = 3, 10
"""Distance from the edge at which the bands begin and end, in pixels at a longer side of 256."""
_SHARE = 0.9
"""Share of the cast that is removed if it is the same all along the edge."""
_SPREAD = 0.015
"""Deviation of the cast along the edge, in logarithms, at which half of that share is removed."""
_MOST = 0.25
"""Logarithm of the largest cast that is removed."""
_FEW = 30
"""With fewer pixels along the edge the cast is unknown."""


def balance_colour(
    relighting: Relighting, shadow: Field, mask: Field, protected: NDArray[np.bool_] | None
) -> Relighting:
    """The relighting (h, w) of a small picture without the colour cast that it has inside the mask.

    `protected` (h, w) are other shadows; they stay dark, so their colours are not compared.
    """
    before = srgb_to_linear(shadow)
    log_gain = relighting.measure_gain()
    inside = mask > 0.5
    cast = measure_cast(before * np.exp(log_gain) + relighting.lift, inside, protected)
    gain = log_gain.mean(axis=2)
    depth = float(np.median(gain[inside])) if inside.any() else 0.0
    if depth < 0.05 or not cast.any():
        return relighting
    shade = (gain / np.float32(depth)).clip(0, 1)[..., None]
    return replace(relighting, level=relighting.level - shade * cast)


def measure_cast(
    light: Field, inside: NDArray[np.bool_], protected: NDArray[np.bool_] | None = None
) -> Field:
    """(h, w, 3) linear light, (h, w) → (3,): logarithm of the cast; less if it varies along the edge."""
    scale = max(inside.shape) / 256
    near, far = (max(1, round(reach * scale)) for reach in (_NEAR, _FAR))
    within, beyond = (find_band(side, near, far) for side in (~inside, inside))
    if protected is not None:
        beyond = beyond & ~protected
    edge = find_band(inside, 0, 1) | find_band(~inside, 0, 1)
    logs = np.log(light.clip(0) + np.float32(DARK))
    colour = logs - logs.mean(axis=2, keepdims=True)
    (inner, some), (outer, more) = (average_side(colour, side, far) for side in (within, beyond))
    known = edge & (some > 0.08) & (more > 0.08)
    if known.sum() < _FEW:
        return np.zeros(3, np.float32)
    steps = (inner - outer)[known]
    middle = np.median(steps, axis=0)
    spread = float(np.median(np.abs(steps - middle), axis=0).mean())
    found: Field = (_SHARE / (1 + (spread / _SPREAD) ** 2) * middle).clip(-_MOST, _MOST).astype(np.float32)
    return found


def find_band(side: NDArray[np.bool_], near: int, far: int) -> NDArray[np.bool_]:
    """(h, w) → (h, w): the pixels that are more than `near` and at most `far` pixels away from it."""
    beyond: NDArray[np.bool_] = dilate(side, far) & ~dilate(side, near)
    return beyond


def average_side(values: Field, side: NDArray[np.bool_], radius: int) -> tuple[Field, Field]:
    """(h, w, 3), (h, w) → mean over the part of each square on this side, and the part's share."""
    share = box_filter(side.astype(np.float32), radius)
    means = box_filter(values * side[..., None].astype(np.float32), radius)
    return (means / share[..., None].clip(1e-6)).astype(np.float32, copy=False), share
