"""Anchors: what a sampler takes from the lit part of a photo, which is known, and not from the denoiser."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from deshadow.diffusion.arrays import Array
from deshadow.diffusion.choices import AnchorKind
from deshadow.diffusion.prediction import diffuse


@dataclass(frozen=True)
class Anchor(Generic[Array]):
    """A photo (B, 3, H, W) in [-1, 1] that a sampler keeps, wholly or on average, where the mask is 0.

    `lit` is y_t ← m · y_t + (1 − m) · (√ᾱ_t x + √(1 − ᾱ_t) ε) at every t that the sampler visits, the first
    one and 0 included: the lit pixels of the result are exactly those of the photo. ε is the noise that the
    sampler started from, the same at every step. DDIM and DPM-Solver++ do just that with pixels whose clean
    value is known to be x, so it is enough to put x in the place of the denoiser's estimate. New noise in
    each step would not lie on the path of a deterministic sampler, and would spoil the differences between
    steps that DPM-Solver++ relies on.

    Where a mask lies between 0 and 1, the estimate is the mean of both, weighted by the mask.
    """

    kind: AnchorKind
    picture: Array
    mask: Array
    """(B, 1, H, W) in [0, 1], as the denoiser sees it: dilated."""

    def paste(self, noisy: Array, noise: Array, a: "float | Array", s: "float | Array") -> Array:
        """y_t with its lit pixels replaced by the photo, diffused with this noise to the level of t."""
        if self.kind != "lit":
            return noisy
        return self.mask * noisy + (1 - self.mask) * diffuse(self.picture, noise, a, s)

    def hold(self, denoise: Callable[[Array, int], Array]) -> Callable[[Array, int], Array]:
        """The denoiser with its estimates of the clean picture corrected."""
        return lambda noisy, t: self.correct(denoise(noisy, t))

    def correct(self, clean: Array) -> Array:
        """An estimate of the clean picture with what is known of the photo put into it."""
        if self.kind == "lit":
            return self.mask * clean + (1 - self.mask) * self.picture
        return clean + self._shift(clean) if self.kind == "mean" else clean

    def _shift(self, clean: Array) -> Array:
        """(B, 3, 1, 1): what the mean colour of the lit pixels lacks in an estimate."""
        lit = 1 - self.mask
        pixels = lit.sum((2, 3)).clip(1)  # no shift where everything lies under the mask
        shift: Array = (lit * (self.picture - clean)).sum((2, 3)) / pixels
        return shift[:, :, None, None]
