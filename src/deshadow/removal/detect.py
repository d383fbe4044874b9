"""Finds the shadows of a photo, at the photo's own size."""

import numpy as np

from deshadow.image.colour import srgb_to_linear
from deshadow.image.filters import Upsampled, fit_local_lines, fit_within, gaussian_blur, resize
from deshadow.image.strips import Field, Picture, for_each_strip
from deshadow.removal.light import log_luminance
from deshadow.removal.parts import LEAST, add_change, measure_extent, split
from deshadow.removal.relighting import downscale
from deshadow.runtime.backend import Detector

DETECTOR_SIDE = 512
"""Longer side of the copy of a photo in which the detector sees details."""
COARSE_SIDE = 256
"""Longer side of the copy in which it sees the whole, where dark things are easier to tell from shadows.
Smaller photos are enlarged to it."""
_LARGE = 2 * DETECTOR_SIDE
"""Longer side from which on a photo, or a part of a long one, is large: its copies have sharp edges."""
_SOFTER = 1.2
"""Standard deviation of the blur of a soft copy, in pixels."""
_RADIUS = 2
_FLAT = 0.02


def detect_shadows(detector: Detector, pixels: Picture, least: float = LEAST, soften: bool = False) -> Field:
    """(H, W, 3) sRGB in [0, 1] → (H, W) in [0, 1]: the probability that each pixel lies in a shadow.

    The detector sees two downscaled copies of the photo, a long photo part by part; of a large photo also
    soft copies. The mean of all results is fitted to the edges of the photo by a guided filter (local lines
    that give the probability from the luminance). `least` is that of `split`. `soften` says that the picture
    is itself a copy of a large photo.
    """
    height, width = pixels.shape[:2]
    soften = soften or is_large(height, width)
    parts = split(height, width, least)
    if len(parts) == 1:
        return _detect_at_once(detector, pixels, soften)
    found = np.zeros((height, width), np.float32)
    for part in parts:
        add_change(found, part, _detect_at_once(detector, pixels[part.place], soften))
    return found.clip(0, 1)


def _detect_at_once(detector: Detector, pixels: Picture, soften: bool) -> Field:
    """(H, W, 3) → (H, W): what the detector finds in a photo or a part of it."""
    height, width = pixels.shape[:2]
    small = downscale(pixels, *fit_within((height, width), DETECTOR_SIDE))
    copies = [resize(small, *_fit_to((height, width), COARSE_SIDE))]
    if max(height, width) > COARSE_SIDE:
        copies.append(small)
    # The sharp edge of a shadow looks like that of a painted thing, and in the copy of a large photo every
    # edge is sharp.
    if soften:
        copies += [gaussian_blur(copy, _SOFTER) for copy in copies]
    results = [resize(_run(detector, copy), *small.shape[:2]) for copy in copies]
    found: Field = np.mean(results, axis=0)
    if found.shape == (height, width):
        return found.clip(0, 1)
    fits = fit_local_lines(log_luminance(srgb_to_linear(small)), found, _RADIUS, _FLAT)
    large = Upsampled(np.stack(fits), height, width)
    result = np.empty((height, width), np.float32)

    def fill(rows: slice) -> None:
        slope, offset = large.read(rows)
        slope *= log_luminance(srgb_to_linear(pixels[rows]))
        slope += offset
        np.clip(slope, 0, 1, out=result[rows])

    for_each_strip(fill, height, width)
    return result


def is_large(height: int, width: int) -> bool:
    """Whether a photo of this size is so large that the edges in its copies are sharper than usual."""
    return measure_extent(height, width) >= _LARGE


def _fit_to(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """(height, width), scaled up or down to a longer side of `longest` pixels."""
    height, width = (max(1, round(side * longest / max(size))) for side in size)
    return height, width


def _run(detector: Detector, picture: Field) -> Field:
    """(H, W, 3) sRGB in [0, 1] → (H, W): the probability, by one pass of the detector."""
    seen = np.ascontiguousarray(picture.clip(0, 1).transpose(2, 0, 1)[None] * 2 - 1, np.float32)
    return np.asarray(detector(seen)[0, 0], np.float32)
