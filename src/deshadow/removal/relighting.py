"""Relighting: carries the light of the network's small result over to the full-resolution photo.

A shadow lacks light, so removing it is a gain in linear light that varies smoothly except at the edge of the
shadow. Only this gain and a small offset are taken from the network's small result; all detail is that of the
photo.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from deshadow.image.colour import LUMINANCE, linear_to_srgb, srgb_to_linear
from deshadow.image.filters import (
    Field,
    Upsampled,
    approximate_gaussian_blur,
    box_filter,
    guided_filter,
    resize,
)

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
_LACKING = 0.8
"""Share of the missing texture that is attributed to the network's blur, not to the light."""
_RELIEF = 0.04
"""Largest contrast that a surface gains with the light, as a share of the photo's own contrast."""
_STRIP = 1 << 18
"""Pixels that are relit at a time, so that a large photo needs little more memory than a small one."""


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

    @classmethod
    def fit(cls, shadow: Field, clean: Field, weight: Field) -> Self:
        """The relighting that leads from one small picture (h, w, 3) to the other, both sRGB in [0, 1].

        Where `weight` (h, w) is 0 the relighting changes nothing.
        """
        before, after = srgb_to_linear(shadow), srgb_to_linear(clean)
        log_gain = estimate_gain(before, after, weight)
        guide = log_luminance(before)
        slope, level = fit_edges(guide, log_gain)
        lit = before * np.exp(slope * guide[..., None] + level)
        lift = box_filter(box_filter(suppress_texture(after - lit, lit), 1), 1) * weight[..., None]
        return cls(slope, level, lift)

    def measure_gain(self, shadow: Field) -> Field:
        """(h, w, 3): the logarithm of the gain at each pixel of the small picture, sRGB in [0, 1]."""
        return self.slope * log_luminance(srgb_to_linear(shadow))[..., None] + self.level

    def apply(self, pixels: Field, weight: Field) -> Field:
        """(H, W, 3) sRGB in [0, 1], (H, W) → (H, W, 3): the photo relit; where the weight is 0, as it was."""
        height, width = weight.shape
        rows, columns = np.flatnonzero(weight.any(axis=1)), np.flatnonzero(weight.any(axis=0))
        result = pixels.astype(np.float32, copy=True)
        if not len(rows):
            return result
        across = slice(int(columns[0]), int(columns[-1]) + 1)
        fields = (self.slope, self.level, self.lift)
        large = Upsampled(np.concatenate(fields, axis=2), height, width)
        step = max(1, _STRIP // (across.stop - across.start))
        for top in range(int(rows[0]), int(rows[-1]) + 1, step):
            strip = slice(top, min(top + step, int(rows[-1]) + 1))
            touched = weight[strip, across] > 0
            if not touched.any():
                continue
            slope, level, lift = np.split(large.rows(strip, across)[touched], 3, axis=1)
            before = srgb_to_linear(result[strip, across][touched])
            guide = log_luminance(before)[:, None]
            after = before * np.exp((slope * guide + level).clip(-1, _MOST)) + lift
            result[strip, across][touched] = linear_to_srgb(after.astype(np.float32, copy=False))
        return result


def estimate_gain(before: Field, after: Field, weight: Field) -> Field:
    """(h, w, 3), (h, w, 3), (h, w) → (h, w, 3): the logarithm of the gain, free of texture.

    The network's result lacks texture that the photo has, so the plain ratio of the two contains texture. A
    rolling guidance filter (Zhang et al. 2014) keeps only the edge of the shadow: the ratio is blurred, then
    filtered by a guided filter whose guide is the blurred ratio, until its large edges are sharp again. With
    these edges the gain is a ratio of local means, so that the mean colour is exact and single dark pixels
    do not matter.
    """
    ratio = np.log((after + _DARK) / (before + _DARK)).mean(axis=2).clip(-1, _MOST) * weight
    shape = approximate_gaussian_blur(ratio, _COARSE)
    for _ in range(_ROUNDS):
        shape = guided_filter(shape, ratio, _RADIUS, _FLAT)
    means = [np.maximum(guided_filter(shape, light, _RADIUS, _FLAT), _FAINT) for light in (after, before)]
    gain: Field = np.log(means[0] / means[1]).clip(-1, _MOST) * weight[..., None]
    return gain


def fit_edges(guide: Field, log_gain: Field) -> tuple[Field, Field]:
    """(h, w), (h, w, 3) → slope and level, (h, w, 3) each, of the gain over the luminance at a shadow's edge.

    Where the gain is even the slope is 0. At an edge luminance and gain change together, so the luminance
    shows where in a small pixel the edge runs. The slope of a shadow is from −1 to 0.
    """
    guide = guide[..., None]
    mean, gain_mean = box_filter(guide, _EDGE_RADIUS), box_filter(log_gain, _EDGE_RADIUS)
    variance = np.maximum(box_filter(guide * guide, _EDGE_RADIUS) - mean * mean, np.float32(0))
    together = box_filter(guide * log_gain, _EDGE_RADIUS) - mean * gain_mean
    slope: Field = (together / (variance + np.float32(_EDGE_FLAT))).clip(-1, 0)
    level: Field = gain_mean - slope * mean
    return box_filter(slope, _EDGE_RADIUS), box_filter(level, _EDGE_RADIUS)


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


def apply_strength(pixels: Field, relit: Field, strength: float) -> Field:
    """(H, W, 3) twice, sRGB in [0, 1] → (H, W, 3): the photo with a share of the restored light."""
    if strength == 1:
        return relit
    result = pixels.astype(np.float32, copy=True)
    if not strength:
        return result
    step = max(1, _STRIP // pixels.shape[1])
    for top in range(0, len(pixels), step):
        strip = slice(top, top + step)
        touched = (relit[strip] != pixels[strip]).any(axis=2)
        before, after = (srgb_to_linear(field[strip][touched]) for field in (pixels, relit))
        result[strip][touched] = linear_to_srgb(before + np.float32(strength) * (after - before))
    return result


def log_luminance(light: Field) -> Field:
    """(…, 3) linear light → (…): the logarithm of the luminance plus a little, so that black is finite."""
    brightness: Field = np.log(light @ np.asarray(LUMINANCE, np.float32) + np.float32(_DARK))
    return brightness


def downscale(field: Field, height: int, width: int) -> Field:
    """(H, W) or (H, W, C) in [0, 1] → the same at (height, width), kept in [0, 1]."""
    return resize(field, height, width).clip(0, 1)
