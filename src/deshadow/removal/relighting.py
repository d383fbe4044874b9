"""Relighting: carries the light of the network's small result over to the full-resolution photo.

A shadow lacks light, so removing it is a gain in linear light that varies smoothly except at the edge of the
shadow. Only this gain and a small offset are taken from the network's small result; all detail is that of the
photo.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from deshadow.image.colour import LUMINANCE, linear_to_srgb, srgb_to_linear
from deshadow.image.filters import Upsampled, approximate_gaussian_blur, box_filter, guided_filter, resize
from deshadow.image.morphology import dilate, erode
from deshadow.image.strips import ComputedPicture, Field, Picture

_RADIUS = 3
"""Radius of the local fits, in pixels of the small picture."""
_COARSE = 2.0
"""Standard deviation of the blur that removes texture before the edges of the shadow are sharpened again."""
_ROUNDS = 4
_FLAT = 0.02
"""Variance of the logarithm of the gain below which it counts as even."""
_DARK = 0.003
"""Linear light added before a ratio is taken: darker pixels are mostly noise."""
_FAINT = 0.001
"""Smallest mean of a neighbourhood in a ratio; a mean is less noisy than a pixel, so it may be darker."""
_MOST = np.log(16.0)
"""Logarithm of the largest gain: a darker shadow has no detail that could be restored."""
_EDGE_RADIUS = 1
_EDGE_FLAT = 0.005
"""Variance of the logarithm of luminance below which it says nothing about an edge."""
_EDGE_STEP = 0.06
"""Variance of the logarithm of the gain at which half of the slope is used in a much larger photo."""
_SOFT, _HARD = 0.05, 0.083
"""Variance at an edge over the square of its step: of a soft edge at most, and of a hard one at least."""
_FAINT_STEP = 0.05
"""Square of a step so faint that it hardly counts."""
_LACKING = 0.8
"""Share of the missing texture that is attributed to the network's blur, not to the light."""
_RELIEF = 0.04
"""Largest contrast that a surface gains with the light, as a share of the photo's own contrast."""


@dataclass(frozen=True, slots=True)
class Relighting:
    """The light that a shadow lacks, at each pixel of a small picture and for each channel.

    log gain = slope · log(luminance + dark) + level. The slope is 0 except at the edge of a shadow:
    there the luminance of a pixel of the full-resolution photo tells on which side of the edge it lies.
    """

    slope: Field
    """(h, w, 3)"""
    level: Field
    """(h, w, 3)"""
    lift: Field
    """(h, w, 3): linear light that is added after the gain."""
    lit: Field
    """(h, w): linear luminance after the gain. Pixels that are darker than this are lifted by less."""

    @classmethod
    def fit(
        cls, shadow: Field, clean: Field, weight: Field, scale: float = 1.0, edge: Field | None = None
    ) -> Self:
        """The relighting that leads from one small picture (h, w, 3) to the other, both sRGB in [0, 1].

        Where `weight` (h, w) is 0 the relighting changes nothing. The photo to which it will be applied is
        `scale` times as large as the small picture. `edge` (h, w) is 1 along the hard edges of the shadow, if
        they are not those of this relighting.
        """
        before, after = srgb_to_linear(shadow), srgb_to_linear(clean)
        log_gain = estimate_gain(before, after, weight)
        guide = log_luminance(before)
        slope, level = fit_edges(guide, log_gain, scale)
        lit = before * np.exp(slope * guide[..., None] + level)
        rest = after - lit
        lift = box_filter(box_filter(suppress_texture(rest, lit), 1), 1)
        # A gain leaves a line along a hard edge. There the small result is taken as it is, the less of it the
        # more it is enlarged.
        exact = (find_hard_edges(log_gain.mean(axis=2)) if edge is None else edge) * np.float32(
            1 / max(scale, 1)
        )
        lift = (lift + exact[..., None] * (rest - lift)) * weight[..., None]
        return cls(slope, level, lift, measure_luminance(lit))

    def measure_gain(self, shadow: Field) -> Field:
        """(h, w, 3): the logarithm of the gain at each pixel of the small picture, sRGB in [0, 1]."""
        return self.slope * log_luminance(srgb_to_linear(shadow))[..., None] + self.level

    def apply(self, picture: Picture, weight: Field) -> ComputedPicture:
        """(H, W, 3), (H, W) → the picture relit, where it is read; where the weight is 0, as it was."""
        fields = np.concatenate([self.slope, self.level, self.lift, self.lit[..., None]], axis=2)
        large = Upsampled(np.moveaxis(fields, 2, 0), *weight.shape)

        def relight(rows: slice, columns: slice) -> Field:
            before = np.asarray(picture[rows, columns], np.float32)
            touched = weight[rows, columns] > 0
            if not touched.any():
                return before
            gain, level, lift, (lit,) = np.split(large.read(rows, columns), [3, 6, 9])
            light = srgb_to_linear(np.ascontiguousarray(np.moveaxis(before, 2, 0)))
            gain *= log_luminance(np.moveaxis(light, 0, 2))
            gain += level
            np.exp(gain.clip(-1, np.float32(_MOST), out=gain), out=gain)
            light *= gain
            # A dark gap in a bright surface gets little: the same light would fill it like fog.
            own = measure_luminance(np.moveaxis(light, 0, 2))
            lift *= np.minimum((own + _FAINT) / (lit.clip(0) + _FAINT), np.float32(1))
            light += lift
            relit: Field = np.moveaxis(linear_to_srgb(light), 0, 2).copy()
            np.copyto(relit, before, where=~touched[..., None])
            return relit

        return ComputedPicture(picture.shape, relight)


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
    means = [np.maximum(guided_filter(shape, light, _RADIUS, _FLAT), _FAINT) for light in (after, before)]
    gain: Field = np.log(means[0] / means[1]).clip(-1, _MOST) * weight[..., None]
    return gain


def measure_ratio(before: Field, after: Field) -> Field:
    """(h, w, 3) linear light, twice → (h, w): the logarithm of their ratio, the mean over the channels."""
    ratio: Field = np.log((after + _DARK) / (before + _DARK)).mean(axis=2).clip(-1, np.float32(_MOST))
    return ratio


def fit_edges(guide: Field, log_gain: Field, scale: float) -> tuple[Field, Field]:
    """(h, w), (h, w, 3) → slope and level, (h, w, 3) each, of the gain over the luminance at a shadow's edge.

    Where the gain is even the slope is 0. At an edge luminance and gain change together, so the luminance
    shows where in a small pixel the edge runs. The slope of a shadow is from −1 to 0. A slope also weakens
    texture that is finer than a small pixel, which a photo has that is several times (`scale`) as large. In
    such a photo it is therefore kept to hard edges: small pixels follow a wide penumbra well enough.
    """
    guide = guide[..., None]
    mean, gain_mean = box_filter(guide, _EDGE_RADIUS), box_filter(log_gain, _EDGE_RADIUS)
    variance = np.maximum(box_filter(guide * guide, _EDGE_RADIUS) - mean * mean, np.float32(0))
    together = box_filter(guide * log_gain, _EDGE_RADIUS) - mean * gain_mean
    step = box_filter(log_gain * log_gain, _EDGE_RADIUS) - gain_mean * gain_mean
    enough = np.float32((_EDGE_STEP * (1 - 1 / max(scale, 1))) ** 2 + 1e-12)
    hard: Field = (step * step / (step * step + enough)).clip(0, 1)
    slope: Field = hard * (together / (variance + np.float32(_EDGE_FLAT))).clip(-1, 0)
    level: Field = gain_mean - slope * mean
    return box_filter(slope, _EDGE_RADIUS), box_filter(level, _EDGE_RADIUS)


def find_hard_edges(log_gain: Field) -> Field:
    """(h, w) → (h, w) in [0, 1]: 1 along the hard edges of a shadow.

    At a hard edge all of the step lies within a few pixels, so the variance there is large for the step.
    """
    gain = log_gain.clip(0)
    mean = box_filter(gain, _RADIUS)
    variance = box_filter(gain * gain, _RADIUS) - mean * mean
    step = dilate(gain, 2 * _RADIUS) - erode(gain, 2 * _RADIUS)
    hard = (variance / (step * step + np.float32(_FAINT_STEP)) - np.float32(_SOFT)) / (_HARD - _SOFT)
    edge: Field = box_filter(dilate(hard.clip(0, 1).astype(np.float32), _RADIUS), 1)
    return edge


def suppress_texture(rest: Field, lit: Field) -> Field:
    """(h, w, 3), (h, w, 3) → the difference of result and relit photo, without what only changes texture.

    Where the network blurs, the difference is the photo's own texture with the opposite sign: most of that
    part is left out, since it would blur the photo too. A part with the same sign is relief that returns
    with the sunlight, if it is small; more than that would be made up.
    """
    texture = lit - box_filter(lit, _RADIUS)
    together = box_filter((rest - box_filter(rest, _RADIUS)) * texture, _RADIUS)
    along = box_filter(together / (box_filter(texture * texture, _RADIUS) + np.float32(1e-6)), _RADIUS)
    surplus = np.float32(_LACKING) * np.minimum(along, 0) + np.maximum(along - np.float32(_RELIEF), 0)
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


def log_luminance(light: Field) -> Field:
    """(…, 3) linear light → (…): the logarithm of the luminance plus a little, so that black is finite."""
    brightness: Field = np.log(measure_luminance(light) + np.float32(_DARK))
    return brightness


def measure_luminance(light: Field) -> Field:
    """(…, 3) linear light → (…): as a sum, since the threads of BLAS wait for each other on busy cores."""
    red, green, blue = (np.float32(share) * light[..., place] for place, share in enumerate(LUMINANCE))
    luminance: Field = red + green + blue
    return luminance


def downscale(picture: Picture, height: int, width: int) -> Field:
    """(H, W) or (H, W, C) in [0, 1] → the same at (height, width), kept in [0, 1]; not to be changed."""
    known = picture.downscaled if isinstance(picture, ComputedPicture) else {}
    if (height, width) not in known:
        known[height, width] = resize(picture, height, width).clip(0, 1)
    return known[height, width]
