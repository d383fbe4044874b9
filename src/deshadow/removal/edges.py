"""Edges: where the hard edges of a shadow run, to a fraction of a pixel of the network's small picture.

Along a hard edge a pixel of the small picture lies partly in the shadow. A gain of its own would leave a
blurred line there when it is enlarged. But the small picture shows how much light the ground lacks on either
side of the edge, and how much of the pixel is in shadow shows how far away the edge is. So at an edge the
gain is a step between two values, as steep as the penumbra is narrow. The photo tells exactly where the step
belongs: at the right place it leaves no trace.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deshadow.image.colour import srgb_to_linear
from deshadow.image.filters import Upsampled, box_filter
from deshadow.image.morphology import dilate, erode
from deshadow.image.strips import Field
from deshadow.removal.light import divide_means, log_luminance, measure_ratio

_REACH = 4
"""Distance within which the brightest and the darkest light tell the sides of an edge apart, in pixels."""
_SIDE = 3
"""Radius of the neighbourhood whose light on one side of an edge is averaged."""
_GAMMA = 2.2
"""Small pixels are means of sRGB values, which are about linear light to the power of 1 / 2.2."""
_SOFT, _HARD = 0.2, 0.27
"""Change per pixel of the smoothed share in shadow: of a soft edge at most, and of a hard one at least. Edges
in between count by degrees."""
_FAINT_STEP = 0.15
"""Difference of the logarithms of the gain up to which there is no edge; from twice that on there is one."""
_UNEVEN = 0.2
"""How much larger the difference must be in a deep shadow, whose gain is uneven, as a share of the logarithm
of the gain."""
_FEW = 0.03
"""Share of a neighbourhood that must lie on one side of an edge for its light to be known."""
_FARTHEST = 2.0
"""Distances from an edge beyond this are all the same."""
_BAND = 0.05
"""Where the share of an edge is below this, its place in the photo is not looked for."""
_WINDOW = 3
"""Radius of the neighbourhood that agrees on the place of an edge."""
_OFFSETS = np.array([0, -0.25, 0.25, -0.5, 0.5, -0.75, 0.75], np.float32)
"""Distances, in pixels, by which an edge may be moved. Of equally good ones the first is taken."""
_WIDTHS = np.array([0.8, 0.4, 1.6, 2.4, 3.2, 4.0], np.float32)
"""Widths that a penumbra may have."""
_NARROW, _WIDE = 1.8, 2.4
"""Width of the penumbra of a hard edge at most, and of a soft one at least, as the photo shows it."""
_WIDTH = np.float32(0.8)
"""Width of a penumbra while the place of its edge is looked for."""


@dataclass(frozen=True, slots=True)
class Edges:
    """The hard edges of a shadow, at each pixel of a small picture; lengths are in its pixels."""

    inner: Field
    """(h, w, 3): logarithm of the gain on the shadow's side."""
    outer: Field
    """(h, w, 3): logarithm of the gain on the lit side."""
    lack: Field
    """(h, w, 3): linear light that the shadow's side still lacks after the gain, since gains are limited."""
    distance: Field
    """(h, w): distance to the edge, positive in the shadow."""
    width: Field
    """(h, w): width of the penumbra."""
    share: Field
    """(h, w): 1 along a hard edge, 0 where there is none."""


def no_edges(height: int, width: int) -> Edges:
    """The edges of a picture that has none."""
    none, colour = np.zeros((height, width), np.float32), np.zeros((height, width, 3), np.float32)
    return Edges(colour, colour, colour, none, none + _WIDTH, none)


def follow_edge(distance: Field, width: Field | np.float32) -> Field:
    """The share in shadow, from 0 to 1, at a distance from an edge with a penumbra of this width."""
    share = (distance / width + np.float32(0.5)).clip(0, 1)
    smooth: Field = share * share * (3 - 2 * share)
    return smooth


def find_edges(before: Field, after: Field, weight: Field) -> Edges:
    """The hard edges of the shadow that is in the linear light (h, w, 3) before, but not after."""
    if min(weight.shape) < 2:  # a line of pixels has no edges along it
        return no_edges(*weight.shape)
    ratio = measure_ratio(before, after) * weight
    # Two sides: where the ratio is nearer to the largest of the neighbourhood, and where to the smallest.
    smooth = box_filter(ratio, 1)
    most, least = (box_filter(limit(smooth, _REACH), 2) for limit in (dilate, erode))
    place = (smooth - least) / np.maximum(most - least, np.float32(0.05))
    inner, lack, some = _average_gain(before, after, ((place - 0.6) * 5).clip(0, 1))
    outer, _, more = _average_gain(before, after, ((0.4 - place) * 5).clip(0, 1))
    base, top = outer.mean(axis=2), inner.mean(axis=2)
    step = top - base
    faint = _FAINT_STEP + _UNEVEN * top.clip(0)
    # A result that is darker than the photo adds no light, so it has no edge.
    known = (np.minimum(some, more) / _FEW).clip(0, 1) * (step / faint - 1).clip(0, 1) * (top > 0)
    # What a pixel lacks, as a share of what the shadow's side lacks, is the part of it that is in shadow.
    part = (_darken(ratio - base) / np.maximum(_darken(step), np.float32(0.03))).clip(-0.1, 1.1)
    part = box_filter(np.where(known > 0, part, place), 1)
    # That part changes by so much from pixel to pixel at the edge nearby.
    change = np.hypot(*np.gradient(part)) * ((np.abs(part - 0.5) < 0.35) & (known > 0))
    change = box_filter(dilate(change, 2), 1)
    distance = ((part - 0.5) / np.maximum(change, 0.08)).clip(-_FARTHEST, _FARTHEST)
    share = known * ((change - _SOFT) / (_HARD - _SOFT)).clip(0, 1) * (weight > 0)
    return Edges(inner, outer, lack, distance, np.full_like(distance, _WIDTH), share)


def _average_gain(before: Field, after: Field, side: Field) -> tuple[Field, Field, Field]:
    """The logarithm of the gain (h, w, 3) on one side of an edge, what it lacks, the share on that side."""
    share = side[..., None]
    means = [before * share, after * share, share]
    for _ in range(2):
        means = [box_filter(each, _SIDE) for each in means]
    dark, lit, count = means
    count = np.maximum(count, np.float32(1e-6))
    gain = divide_means(dark / count, lit / count)
    return gain, (lit - dark * np.exp(gain)) / count, count[..., 0]


def _darken(log_gain: Field) -> Field:
    """How much darker, as a share, an sRGB value is that lacks this gain."""
    darker: Field = 1 - np.exp(-log_gain / np.float32(_GAMMA))
    return darker


def place_edges(edges: Edges, photo: Field) -> Edges:
    """The same edges where a photo (H, W, 3), sRGB in [0, 1], has them: H = n · h and W = n · w.

    Each place and width is tried. At the right one the relit photo is most even in the neighbourhood.
    """
    height, width = edges.share.shape
    times = len(photo) // height
    band = (edges.share > _BAND).repeat(times, 0).repeat(times, 1)
    rows, columns = np.nonzero(band)
    if not len(rows):
        return edges
    base = edges.outer.mean(axis=2)
    fields = np.stack([edges.distance, edges.inner.mean(axis=2) - base, base])
    distance, step, level = Upsampled(fields, *band.shape).read(slice(None))[:, rows, columns]
    level += log_luminance(srgb_to_linear(photo[rows, columns]))
    pixel = rows // times * width + columns // times

    def gather(values: Field) -> Field:
        """(h, w): the totals of the band in the small pixels, averaged over the neighbourhood of each."""
        totals: Field = np.bincount(pixel, values, height * width).astype(np.float32)
        return box_filter(totals.reshape(height, width), _WINDOW)

    count: Field = np.maximum(gather(np.ones_like(level)), np.float32(1e-3))

    def measure_unevenness(offset: Field | np.float32, penumbra: np.float32) -> Field:
        """(h, w): the variance of the relit luminance around each pixel."""
        relit = level + follow_edge(distance + offset, penumbra) * step
        mean = gather(relit) / count
        variance: Field = gather(relit * relit) / count - mean * mean
        return variance

    trust = edges.share + np.float32(1e-4)
    even = box_filter(trust, 2)

    def choose(values: Field, unevenness: Sequence[Field]) -> Field:
        """(h, w): the values of least unevenness, averaged along the edges."""
        return box_filter(values[np.argmin(unevenness, axis=0)] * trust, 2) / even

    offset = choose(_OFFSETS, [measure_unevenness(each, _WIDTH) for each in _OFFSETS])
    moved = offset.ravel()[pixel]
    penumbra = choose(_WIDTHS, [measure_unevenness(moved, each) for each in _WIDTHS])
    share = edges.share * ((_WIDE - penumbra) / (_WIDE - _NARROW)).clip(0, 1)
    return replace(edges, distance=edges.distance + offset, width=penumbra, share=share)
