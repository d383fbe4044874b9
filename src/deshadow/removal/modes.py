"""The two modes of removal, as in the paper's demo: Quick and Removal."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deshadow.image.filters import fit_within
from deshadow.image.strips import Field, Picture, cut, for_each_strip, insert
from deshadow.removal import reach, windows
from deshadow.removal.agreement import PartLight, agree
from deshadow.removal.balance import balance_colour
from deshadow.removal.crop import CROP_SIDE, crop_around, crop_photo
from deshadow.removal.options import RemovalOptions
from deshadow.removal.parts import Part, add_change, split
from deshadow.removal.reach import NETWORK_SIDE
from deshadow.removal.relighting import Relighting, apply_strength, downscale
from deshadow.removal.selection import Selection
from deshadow.runtime.backend import Backend, sample_picture
from deshadow.system.memory import release_freed_memory

Stage = Literal["detect", "quick", "windows"]

_WIDER = 0.7
"""The mask of a crop is dilated by the crop's enlargement to this power times as much as in training. With 0
an edge that the mask misses stays visible; with 1 the mask reaches as far in the photo as without a crop."""
WINDOWED = 1280
"""Longest side of the picture (or the part) that Removal works on, window by window."""


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


class EndEarlyError(Exception):
    """Raised by a report to end Removal early: the result has the windows that are done."""


def quick(
    backend: Backend,
    pixels: Picture,
    selection: Selection,
    weight: Field,
    options: RemovalOptions,
    advance: Callable[[float], None] = lambda _: None,
) -> Picture:
    """(H, W, 3): the photo relit by what the network makes of it, downscaled; a long photo in parts.

    Of a large photo with a small shadow the network sees a crop. `advance` is called after each part with the
    share of the parts that is done.
    """
    parts = split(*weight.shape)
    if len(parts) == 1:
        return _relight_whole(backend, pixels, selection, weight, options)
    axis = int(weight.shape[1] > weight.shape[0])
    shaded = [
        (part, own, mask)
        for part, own in ((part, selection.crop(part.place)) for part in parts)
        if (mask := _make_small_mask(own, options.dilate)).any()
    ]
    lights = []
    for done, (part, own, mask) in enumerate(shaded, start=1):
        place, along = part.place, part.place[axis]
        found, log_gain, inside = _fit_light(backend, pixels[place], own, mask, weight[place], options)
        protected = reach.downscale_protected(own, *mask.shape)
        lit = (mask == 0) if protected is None else (mask == 0) & ~protected
        lights.append(PartLight(along.start, along.stop, found, log_gain, inside, float(lit.mean())))
        advance(done / len(shaded))
    result = np.array(pixels, np.float32)
    for (part, _, _), light in zip(shaded, agree(lights, axis), strict=True):
        before = pixels[part.place]
        add_change(result, part, np.asarray(light.apply(before, weight[part.place])) - before)
    return result


def _relight_whole(
    backend: Backend, pixels: Picture, selection: Selection, weight: Field, options: RemovalOptions
) -> Picture:
    """(H, W, 3): a photo of ordinary shape, relit."""
    mask = _make_small_mask(selection, options.dilate)
    place = crop_photo(mask > 0, _feather_margin(options, *mask.shape), *weight.shape)
    if place is None:
        light = _fit_light(backend, pixels, selection, mask, weight, options)[0]
        return light.apply(pixels, weight)
    near, chosen, own = cut(pixels, place), selection.crop(place), weight[place]
    enlarged = min(weight.shape) / min(own.shape)
    mask = _make_small_mask(chosen, round(options.dilate * enlarged**_WIDER), CROP_SIDE)
    light = _fit_light(backend, near, chosen, mask, own, options, cropped=True)[0]
    return insert(pixels, light.apply(near, own), place)


def _feather_margin(options: RemovalOptions, height: int, width: int) -> int:
    """How far the light fades around the dilated mask in a small picture of this size, in its pixels."""
    return math.ceil(options.feather * reach.measure_scale(height, width))


def _fit_light(
    backend: Backend,
    pixels: Picture,
    selection: Selection,
    mask: Field,
    weight: Field,
    options: RemovalOptions,
    cropped: bool = False,
) -> tuple[Relighting, Field, NDArray[np.bool_]]:
    """The relighting of a photo or a part of it, by what the network makes of it, downscaled.

    `mask` (h, w) is the dilated mask at the size to which it is downscaled. The network sees the shadow with
    its surroundings, or everything if that is hardly more or is `cropped` already. The second and third
    results are, for everything at that size, the logarithm of the gain (h, w, 3) and the shadow (h, w).
    """
    height, width = mask.shape
    place = slice(0, height), slice(0, width)
    if not cropped:
        place = crop_around(mask > 0, _feather_margin(options, height, width))
    shadow, picture, hole = _make_input(pixels, mask)
    small_weight = downscale(weight, height, width)
    noise = np.random.default_rng(options.seed).standard_normal(picture.shape).astype(np.float32)
    picture, hole, noise = (np.ascontiguousarray(each[:, :, *place]) for each in (picture, hole, noise))
    found = sample_picture(backend, picture, hole, noise, steps=options.steps, sampler=options.sampler)
    clean = shadow.copy()
    clean[place] = ((found[0].transpose(1, 2, 0) + 1) / 2).clip(0, 1)
    relighting = Relighting.fit(shadow, clean, small_weight, pixels)
    inside = reach.make_network_mask(selection, 0, height, width)
    protected = reach.downscale_protected(selection, height, width)
    balanced = balance_colour(relighting, shadow, inside, protected)
    return balanced, balanced.measure_gain(), inside > 0.5


def make_network_input(pixels: Picture, selection: Selection, dilate: int) -> tuple[Field, Field, Field]:
    """A whole photo (H, W, 3) for the network, downscaled to (h, w, 3).

    Returns the small photo in [0, 1], the same as (1, 3, h, w) in [-1, 1], and the dilated mask (1, 1, h, w).
    """
    return _make_input(pixels, _make_small_mask(selection, dilate))


def _make_input(pixels: Picture, mask: Field) -> tuple[Field, Field, Field]:
    """What `make_network_input` returns, for a dilated mask (h, w)."""
    shadow = downscale(pixels, *mask.shape)
    return shadow, np.ascontiguousarray((shadow * 2 - 1).transpose(2, 0, 1)[None]), mask[None, None]


def _make_small_mask(selection: Selection, dilate: int, side: int = NETWORK_SIDE) -> Field:
    """(h, w): the mask that the network sees of a whole photo or a part of it, dilated."""
    return reach.make_network_mask(selection, dilate, *fit_within(selection.mask.shape, side))


def removal(
    backend: Backend,
    pixels: Picture,
    selection: Selection,
    weight: Field,
    relit: Picture,
    options: RemovalOptions,
    report: Report,
) -> Picture:
    """(H, W, 3): the result of Quick, refined by windows over the shadow that each start from it."""
    parts = split(*weight.shape)
    seen = [
        downscale(own, *fit_within(own.shape, WINDOWED)) for own in (weight[part.place] for part in parts)
    ]
    masks = [
        reach.make_network_mask(selection.crop(part.place), options.dilate, *own.shape)
        for part, own in zip(parts, seen, strict=True)
    ]
    places = [windows.lay_out(mask) for mask in masks]
    total, done = sum(map(len, places)), 0

    def show(result: Picture) -> Field:
        return composite(pixels, apply_strength(pixels, result, options.strength), weight)

    try:
        report(Progress(0.2, "windows", 0, total, lambda: show(relit)))
    except EndEarlyError:
        return relit
    result = relit
    for part, own_seen, mask, own_places in zip(parts, seen, masks, places, strict=True):
        place, so_far = part.place, result

        def finish(refined: Picture, part: Part = part, so_far: Picture = so_far) -> Picture:
            if len(parts) == 1:
                return refined
            blended = np.array(so_far)
            add_change(blended, part, np.asarray(refined) - relit[part.place])
            return blended

        own = (pixels, weight, relit)
        if len(parts) > 1:
            own = (pixels[place], weight[place], relit[place])
        state: Callable[[], Picture] | None = None
        for state in _refine(backend, *own, own_seen, mask, own_places, options):
            done += 1

            def preview(
                state: Callable[[], Picture] = state, finish: Callable[..., Picture] = finish
            ) -> Field:
                return show(finish(state()))

            try:
                report(Progress(0.2 + 0.75 * done / total, "windows", done, total, preview))
            except EndEarlyError:
                return finish(state())
        if state is not None:
            release_freed_memory()  # of the networks, before the light is fitted
            result = finish(state())
    return result


def _refine(
    backend: Backend,
    pixels: Picture,
    weight: Field,
    relit: Picture,
    seen: Field,
    mask: Field,
    places: list[windows.Window],
    options: RemovalOptions,
) -> Iterator[Callable[[], Picture]]:
    """Refine a photo or a part of it by windows; yields functions that return it, (H, W, 3), as it is so far.

    `seen` (h, w) and `mask` (h, w) are the weight and the network's mask at the size of the picture in which
    the windows are placed. Only near the mask, well within the windows, does the light differ from Quick's.
    """
    height, width = seen.shape
    shadow, start = (downscale(field, height, width) for field in (pixels, relit))
    start = composite(shadow, start, seen)
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
    near = np.minimum(seen, reach.fade(mask, windows.OVERLAP // 4))
    for state in states:

        def carry_over(state: Callable[[], Field] = state) -> Picture:
            # Quick has removed the edges; its result and the refined one differ in light and detail alone.
            light = Relighting.fit(start, state(), near, relit, sharpen_edges=False)
            return light.apply(relit, weight)

        yield carry_over


def composite(pixels: Picture, result: Picture, weight: Field) -> Field:
    """(H, W, 3), (H, W, 3), (H, W) → the result over the picture; where the weight is 0, the picture."""
    mixed = np.empty(pixels.shape, np.float32)

    def mix(rows: slice) -> None:
        mixed[rows] = pixels[rows]
        if weight[rows].any():
            mixed[rows] += weight[rows, :, None] * (result[rows] - mixed[rows])

    for_each_strip(mix, *weight.shape)
    return mixed
