"""The two modes of removal, as in the paper's demo: Quick and Removal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deshadow.diffusion.sampling import sample
from deshadow.image.filters import Field, fit_within
from deshadow.removal import reach, windows
from deshadow.removal.balance import balance_colour
from deshadow.removal.options import RemovalOptions
from deshadow.removal.reach import NETWORK_SIDE
from deshadow.removal.relighting import Relighting, apply_strength, downscale
from deshadow.removal.selection import Selection
from deshadow.runtime.backend import Backend, condition

Stage = Literal["detect", "quick", "windows"]

WINDOWED = 1280
"""Longest side of the picture that Removal works on, window by window."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a removal."""

    share: float
    """Share of the work that is done, from 0 to 1."""
    stage: Stage
    done: int = 0
    """Windows that are done."""
    total: int = 0
    preview: Callable[[], Field] | None = None
    """Returns the (H, W, 3) picture as it is so far."""


Report = Callable[[Progress], None]


def quick(
    backend: Backend, pixels: Field, selection: Selection, weight: Field, options: RemovalOptions
) -> Field:
    """(H, W, 3): the photo relit by what the network makes of all of it, downscaled."""
    shadow, picture, mask = make_network_input(pixels, selection, options.dilate)
    height, width = shadow.shape[:2]
    denoise = condition(backend, picture, mask)
    noise = np.random.default_rng(options.seed).standard_normal(picture.shape).astype(np.float32)
    sampler = options.sampler
    found = sample(denoise, noise, backend.config.schedule, steps=options.steps, sampler=sampler)
    clean = ((found[0].transpose(1, 2, 0) + 1) / 2).clip(0, 1)
    relighting = Relighting.fit(shadow, clean, downscale(weight, height, width))
    inside = reach.make_network_mask(selection, 0, height, width)
    protected = reach.downscale_protected(selection, height, width)
    return balance_colour(relighting, shadow, inside, protected).apply(pixels, weight)


def make_network_input(pixels: Field, selection: Selection, dilate: int) -> tuple[Field, Field, Field]:
    """What the network sees of a whole photo (H, W, 3), which is downscaled to (h, w, 3).

    Returns the small photo in [0, 1], the same as (1, 3, h, w) in [-1, 1], and the dilated mask (1, 1, h, w).
    """
    height, width = fit_within(pixels.shape[:2], NETWORK_SIDE)
    shadow = downscale(pixels, height, width)
    mask = reach.make_network_mask(selection, dilate, height, width)
    return shadow, np.ascontiguousarray((shadow * 2 - 1).transpose(2, 0, 1)[None]), mask[None, None]


def removal(
    backend: Backend,
    pixels: Field,
    selection: Selection,
    weight: Field,
    relit: Field,
    options: RemovalOptions,
    report: Report,
) -> Field:
    """(H, W, 3): the result of Quick, refined by windows over the shadow that each start from it."""
    height, width = fit_within(pixels.shape[:2], WINDOWED)
    shadow, start, seen = (downscale(field, height, width) for field in (pixels, relit, weight))
    mask = reach.make_network_mask(selection, options.dilate, height, width)
    start = composite(shadow, start, seen)
    places = windows.lay_out(seen)

    def carry_over(clean: Field) -> Field:
        return Relighting.fit(start, clean, seen).apply(relit, weight)

    def show(result: Field) -> Field:
        return composite(pixels, apply_strength(pixels, result, options.strength), weight)

    refined: Callable[[], Field] = lambda: start  # noqa: E731
    report(Progress(0.2, "windows", 0, len(places), lambda: show(relit)))
    states = windows.refine(
        backend,
        shadow,
        start,
        mask,
        places,
        steps=options.steps,
        sampler=options.sampler,
        seed=options.seed,
    )
    for done, refined in enumerate(states, start=1):

        def preview(state: Callable[[], Field] = refined) -> Field:
            return show(carry_over(state()))

        report(Progress(0.2 + 0.75 * done / len(places), "windows", done, len(places), preview))
    return carry_over(refined())


def composite(pixels: Field, result: Field, weight: Field) -> Field:
    """(H, W, 3), (H, W, 3), (H, W) → the result over the picture; where the weight is 0, the picture."""
    mixed = pixels.astype(np.float32, copy=True)
    touched = weight > 0
    mixed[touched] += weight[touched][:, None] * (result[touched] - mixed[touched])
    return mixed
