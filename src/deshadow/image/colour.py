"""sRGB, linear light (IEC 61966-2-1), luminance (Rec. 709) and CIE LAB with white D65, for numpy and torch.

Pictures are (…, 3) in numpy and (B, 3, H, W) in torch. LAB has the numbers of scikit-image.
"""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Array = TypeVar("Array", NDArray[Any], "torch.Tensor")

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
_RELATIVE_XYZ = (XYZ_FROM_RGB / WHITE[:, None]).tolist()
"""X, Y and Z, each as a share of white's, of one unit of red, green and blue."""
_KNEE, _SLOPE, _OFFSET = 0.008856, 7.787, 16 / 116
"""LAB takes cube roots above the knee, and a straight line below it."""


def _where(condition: Any, chosen: Array, other: Array) -> Array:
    """`chosen` where the condition holds, elsewhere the other; an array may be changed in place."""
    if isinstance(chosen, np.ndarray):
        np.copyto(chosen, other, where=~condition)  # faster than np.where if nearly all are chosen
        return chosen
    return chosen.where(condition, other)


def srgb_to_linear(values: Array) -> Array:
    """sRGB in [0, 1] → linear light in [0, 1], of the same shape and type; values beyond are clipped."""
    values = values.clip(0, 1)
    return _where(values > 0.04045, ((values + 0.055) / 1.055) ** 2.4, values / 12.92)


def linear_to_srgb(light: Array) -> Array:
    """Linear light → sRGB in [0, 1], of the same shape and type; light beyond [0, 1] is clipped."""
    light = light.clip(0, 1)
    # Without the lower bound the root would have an infinite gradient at black.
    return _where(light > 0.0031308, 1.055 * light.clip(1e-5) ** (1 / 2.4) - 0.055, 12.92 * light)


# Tables of the 256 codes of 8 bits: a look-up is much faster than a power.
_LIGHT = srgb_to_linear(np.arange(256) / 255)
_LUMINANCES = [(weight * _LIGHT).astype(np.float32) for weight in LUMINANCE]
_RELATIVE_TABLES = XYZ_FROM_RGB[:, :, None] / WHITE[:, None, None] * _LIGHT


def decode_srgb(picture: Array) -> Array:
    """8-bit sRGB of any shape → linear light in [0, 1]: float64 in numpy, float32 in torch."""
    if isinstance(picture, np.ndarray):
        light: NDArray[np.float64] = _LIGHT[picture]
        return light
    import torch

    return srgb_to_linear(torch.arange(256, device=picture.device) / 255)[picture.int()]


def round_to_8_bits(values: Array) -> Array:
    """[0, 1] → 8 bits, rounded to the nearest code; values beyond are clipped."""
    codes = (values * 255 + 0.5).clip(0, 255.5)
    return codes.astype(np.uint8) if isinstance(codes, np.ndarray) else codes.byte()


def luminance(light: "torch.Tensor") -> "torch.Tensor":
    """(B, 3, H, W) linear light → (B, 1, H, W) luminance."""
    red, green, blue = LUMINANCE
    return red * light[:, :1] + green * light[:, 1:2] + blue * light[:, 2:]


def decode_luminance(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(…, 3) 8-bit sRGB → (…) luminance in linear light, in [0, 1]."""
    red, green, blue = _LUMINANCES
    light: NDArray[np.float32] = red[picture[..., 0]]
    light += green[picture[..., 1]]
    light += blue[picture[..., 2]]
    return light


def srgb_to_lab(picture: Array) -> Array:
    """sRGB → LAB, L from 0 to 100: (…, 3) of 8 bits in numpy, (B, 3, H, W) in [0, 1] in torch."""
    if isinstance(picture, np.ndarray):
        codes = [np.ascontiguousarray(picture[..., channel]) for channel in range(3)]
        xyz = [sum(table[code] for table, code in zip(row, codes, strict=True)) for row in _RELATIVE_TABLES]
        return np.stack(_lab_from_xyz(*xyz), axis=-1)
    import torch

    red, green, blue = srgb_to_linear(picture).unbind(1)
    # Sums, not a product of matrices: that would be done in half precision where a network is trained.
    return torch.stack(_lab_from_xyz(*(r * red + g * green + b * blue for r, g, b in _RELATIVE_XYZ)), dim=1)


def lab_to_srgb(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """(…, 3) LAB → (…, 3) 8-bit sRGB; colours beyond the gamut are clipped."""
    middle = (values[..., 0] + 16) / 116
    blue = np.maximum(middle - values[..., 2] / 200, 0)  # as scikit-image does: Z is not negative
    roots = np.stack([middle + values[..., 1] / 500, middle, blue], axis=-1)
    relative = np.where(roots > 0.2068966, roots**3, (roots - _OFFSET) / _SLOPE)
    return round_to_8_bits(linear_to_srgb(np.einsum("...c,rc->...r", relative * WHITE, _RGB_FROM_XYZ)))


def _lab_from_xyz(x: Array, y: Array, z: Array) -> list[Array]:
    """L, a and b from X, Y and Z, each relative to white's."""
    f_x, f_y, f_z = (
        _where(value > _KNEE, value.clip(1e-6) ** (1 / 3), _SLOPE * value + _OFFSET) for value in (x, y, z)
    )
    return [116 * f_y - 16, 500 * (f_x - f_y), 200 * (f_y - f_z)]
