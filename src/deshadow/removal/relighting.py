"""Relighting: carries the light of the network's small result over to the full-resolution photo.

A shadow lacks light, so removing it is a gain in linear light that varies smoothly except at the edge of the
shadow. Only this gain and an offset are taken from the network's small result; in a photo that is much larger
than this result, all detail is that of the photo.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deshadow.image.colour import linear_to_srgb, srgb_to_linear
from deshadow.image.filters import Upsampled, approximate_gaussian_blur, box_filter, guided_filter, resize
from deshadow.image.strips import ComputedPicture, Field, Picture
from deshadow.removal.edges import find_edges, follow_edge, no_edges, place_edges
from deshadow.removal.light import FAINT, MOST, divide_means, measure_luminance, measure_ratio

_RADIUS = 3
"""Radius of the local fits, in pixels of the small picture."""
_COARSE = 2.0
"""Standard deviation of the blur that removes texture before the edges of the shadow are sharpened again."""
_ROUNDS = 4
_FLAT = 0.02
"""Variance of the logarithm of the gain below which it counts as even."""
_CLOSER = 2
"""Times the size of the small picture at which edges are looked for in the photo."""
_LACKING = 0.8, 0.25
"""Share of the texture that the small result lacks which is put down to the network's blur, and is not taken
over: for a photo that is many times as large as the result, and for one of the same size."""
_RELIEF = 0.02
"""Largest contrast that a surface gains with the light, as a share of the photo's own contrast."""


@dataclass(frozen=True, slots=True)
class Relighting:
    """The light that a shadow lacks, at each pixel of a small picture; lengths are in its pixels.

    log gain = level + step · share, where the share in shadow goes from 0 to 1 across a hard edge. Elsewhere
    the step is 0.
    """

    level: Field
    """(h, w, 3): logarithm of the gain; along an edge, that of the lit side."""
    step: Field
    """(h, w, 3): how much larger the logarithm is in the shadow than on the lit side of an edge."""
    distance: Field
    """(h, w): distance to the edge, positive in the shadow."""
    width: Field
    """(h, w): width of the penumbra along the edge."""
    lift: Field
    """(h, w, 3): linear light that is added after the gain."""
    lit: Field
    """(h, w): linear luminance after the gain. Pixels that are darker than this are lifted by less."""

    @classmethod
    def fit(
        cls, shadow: Field, clean: Field, weight: Field, photo: Picture, sharpen_edges: bool = True
    ) -> Self:
        """The relighting that leads from one small picture (h, w, 3) to the other, both sRGB in [0, 1].

        Where `weight` (h, w) is 0 the relighting changes nothing. `photo` (H, W, 3) is the picture to which
        it will be applied. The hard edges of the shadow are where the photo has them; `sharpen_edges` is
        False if the small pictures differ by no such edges.
        """
        before, after = srgb_to_linear(shadow), srgb_to_linear(clean)
        scale = max(1.0, max(photo.shape[:2]) / max(weight.shape))
        with ThreadPoolExecutor(1) as pool:  # the edges take longer than the gain
            estimate = pool.submit(estimate_gain, before, after, weight)
            edges = find_edges(before, after, weight) if sharpen_edges else no_edges(*weight.shape)
            if edges.share.any():
                edges = place_edges(edges, _look_closer(photo, *weight.shape))
            gain = estimate.result()
        share = edges.share[..., None]
        found = cls(
            level=gain + share * (edges.outer - gain),
            step=share * (edges.inner - edges.outer),
            distance=edges.distance,
            width=np.maximum(edges.width, np.float32(1 / scale)),
            lift=np.zeros_like(gain),
            lit=np.zeros_like(weight),
        )
        lit = before * np.exp(found.measure_gain())
        rest = after - lit
        # The more the small result is enlarged, the less of its own detail is taken over.
        exact = 1 / scale
        kept = suppress_texture(rest, lit, lacking=float(np.interp(exact, (0, 1), _LACKING)))
        lift = box_filter(box_filter(kept, 1), 1)
        lift += share * (found.measure_shade()[..., None] * edges.lack - lift)
        lift += np.float32(exact) * (kept - lift)
        lift *= weight[..., None]
        return replace(found, lift=lift, lit=measure_luminance(lit))

    def measure_gain(self) -> Field:
        """(h, w, 3): the logarithm of the gain at each pixel of the small picture."""
        gain: Field = self.level + self.measure_shade()[..., None] * self.step
        return gain

    def measure_shade(self) -> Field:
        """(h, w): the share of each pixel of the small picture that is in shadow, as its edge says."""
        return follow_edge(self.distance, np.maximum(self.width, np.float32(1)))

    def apply(self, picture: Picture, weight: Field) -> ComputedPicture:
        """(H, W, 3), (H, W) → the picture relit, where it is read; where the weight is 0, as it was."""
        light = self._enlarge(weight, self.level, self.lift, self.lit)
        steps, edges = self._enlarge(weight, self.step), self._enlarge(weight, self.distance, self.width)

        def relight(rows: slice, columns: slice) -> Field:
            before = np.asarray(picture[rows, columns], np.float32)
            touched = weight[rows, columns] > 0
            if not touched.any():
                return before
            gain, lift, (lit,) = np.split(light.read(rows, columns), [3, 6])
            if near := steps.find_span(rows, columns):
                step = steps.read(rows, near) * follow_edge(*edges.read(rows, near))
                gain[..., near.start - columns.start : near.stop - columns.start] += step
            np.exp(gain.clip(-1, MOST, out=gain), out=gain)
            after = srgb_to_linear(np.ascontiguousarray(np.moveaxis(before, 2, 0)))
            after *= gain
            # A dark gap in a bright surface gets little: the same light would fill it like fog.
            own = measure_luminance(np.moveaxis(after, 0, 2))
            lift *= np.minimum((own + np.float32(FAINT)) / (lit.clip(0) + np.float32(FAINT)), np.float32(1))
            after += lift
            relit: Field = np.moveaxis(linear_to_srgb(after), 0, 2).copy()
            np.copyto(relit, before, where=~touched[..., None])
            return relit

        return ComputedPicture(picture.shape, relight)

    @staticmethod
    def _enlarge(weight: Field, *fields: Field) -> Upsampled:
        """Small fields (h, w) or (h, w, 3) at the size of the weight, their channels one after another."""
        return Upsampled(np.moveaxis(np.dstack(fields), 2, 0), *weight.shape)


def _look_closer(photo: Picture, height: int, width: int) -> Field:
    """(H, W, 3) → the photo at a multiple of this size, in which edges are looked for."""
    return resize(photo, _CLOSER * height, _CLOSER * width, gap=1.0).clip(0, 1)


def estimate_gain(before: Field, after: Field, weight: Field) -> Field:
    """(h, w, 3), (h, w, 3), (h, w) → (h, w, 3): the logarithm of the gain, free of texture.

    The network's result lacks texture that the photo has, so the plain ratio of the two contains texture. A
    rolling guidance filter (Zhang et al. 2014) keeps only the edge of the shadow: the ratio is blurred, then
    filtered by a guided filter whose guide is the blurred ratio, until its large edges are sharp again. With
    these edges the gain is a ratio of local means, so that the mean colour is exact and single dark pixels
    do not matter.
    """
    ratio = measure_ratio(before, after) * weight
    shape = approximate_gaussian_blur(ratio, _COARSE)
    for _ in range(_ROUNDS):
        shape = guided_filter(shape, ratio, _RADIUS, _FLAT)
    means = (guided_filter(shape, light, _RADIUS, _FLAT) for light in (before, after))
    gain: Field = divide_means(*means) * weight[..., None]
    return gain


def suppress_texture(rest: Field, lit: Field, lacking: float) -> Field:
    """(h, w, 3), (h, w, 3) → the difference of result and relit photo, without what only changes texture.

    Where the network blurs, the difference is the photo's own texture with the opposite sign: the share
    `lacking` of that part is left out, since it would blur the photo too. A part with the same sign is relief
    that returns with the sunlight, if it is small; more than that would be made up.
    """
    texture = lit - box_filter(lit, _RADIUS)
    together = box_filter((rest - box_filter(rest, _RADIUS)) * texture, _RADIUS)
    along = box_filter(together / (box_filter(texture * texture, _RADIUS) + np.float32(1e-6)), _RADIUS)
    surplus = np.float32(lacking) * np.minimum(along, 0) + np.maximum(along - np.float32(_RELIEF), 0)
    kept: Field = rest - surplus * texture
    return kept


def apply_strength(picture: Picture, relit: Picture, strength: float) -> Picture:
    """(H, W, 3) twice, sRGB in [0, 1] → the picture with a share of the restored light, where it is read."""
    if strength == 1:
        return relit

    def mix(rows: slice, columns: slice) -> Field:
        before, after = (np.asarray(each[rows, columns], np.float32) for each in (picture, relit))
        changed = before != after
        if not strength or not changed.any():
            return before
        light, more = srgb_to_linear(before), srgb_to_linear(after)
        mixed: Field = np.where(
            changed, linear_to_srgb(light + np.float32(strength) * (more - light)), before
        )
        return mixed

    return ComputedPicture(picture.shape, mix)


def downscale(picture: Picture, height: int, width: int) -> Field:
    """(H, W) or (H, W, C) in [0, 1] → the same at (height, width), kept in [0, 1]; not to be changed."""
    known = picture.downscaled if isinstance(picture, ComputedPicture) else {}
    if (height, width) not in known:
        known[height, width] = resize(picture, height, width).clip(0, 1)
    return known[height, width]
