"""sRGB, linear light (IEC 61966-2-1) and CIE LAB with white D65, in the numbers that scikit-image uses."""

import numpy as np
from numpy.typing import NDArray

_CODES = np.arange(256) / 255
LINEAR = np.where(_CODES > 0.04045, ((_CODES + 0.055) / 1.055) ** 2.4, _CODES / 12.92)
"""Linear light of each of the 256 codes."""
LUMINANCE = (0.2126, 0.7152, 0.0722)
"""Shares of red, green and blue in luminance (Rec. 709)."""
XYZ_FROM_RGB = np.array(
    [
        [0.412453, 0.357580, 0.180423],
        [0.212671, 0.715160, 0.072169],
        [0.019334, 0.119193, 0.950227],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])  # D65, observer of 2°
_RGB_FROM_XYZ = np.linalg.inv(XYZ_FROM_RGB)
KNEE = 0.008856
# A table for each of X, Y, Z relative to white and each of R, G, B: a look-up in the place of a product.
_RELATIVE = XYZ_FROM_RGB[:, :, None] / WHITE[:, None, None] * LINEAR


def lab(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(H, W, 3) sRGB → (H, W, 3): L from 0 to 100, a and b about zero."""
    codes = [np.ascontiguousarray(picture[..., channel]) for channel in range(3)]
    x, y, z = (_root(red[codes[0]] + green[codes[1]] + blue[codes[2]]) for red, green, blue in _RELATIVE)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def srgb(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """(H, W, 3) LAB → (H, W, 3) sRGB; colours beyond the gamut are clipped."""
    middle = (values[..., 0] + 16) / 116
    blue = np.maximum(middle - values[..., 2] / 200, 0)  # as scikit-image: no light is less than none
    roots = np.stack([middle + values[..., 1] / 500, middle, blue], axis=-1)
    relative = np.where(roots > 0.2068966, roots**3, (roots - 16 / 116) / 7.787)
    return encode(np.einsum("...c,rc->...r", relative * WHITE, _RGB_FROM_XYZ))


def linear(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(H, W, 3) sRGB → (H, W, 3) linear light in [0, 1]."""
    return LINEAR[picture]


def encode(light: NDArray[np.float64]) -> NDArray[np.uint8]:
    """(H, W, 3) linear light → (H, W, 3) sRGB, clipped to what 8 bits hold."""
    light = light.clip(0, 1)
    codes = np.where(light > 0.0031308, 1.055 * light ** (1 / 2.4) - 0.055, 12.92 * light)
    return (255 * codes).round().astype(np.uint8)


def _root(relative: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cube root, straight near black."""
    roots = np.cbrt(relative)
    dark = relative <= KNEE
    roots[dark] = 7.787 * relative[dark] + 16 / 116
    return roots
