"""Colour and sharpness after removal: synthetic shadows on the photos of scikit-image.

python benchmarks/looks.py [WEIGHTS]

ΔE: difference of the mean colours of result and truth in the shadow. Sharpness: gradient energy there,
result divided by truth. Both at the photo's own size, with given masks.
"""

import sys

import numpy as np
from numpy.typing import NDArray
from skimage import color, data
from skimage.filters import gaussian

import deshadow
from deshadow.image.colour import decode_srgb, linear_to_srgb, round_to_8_bits
from deshadow.metrics.pooling import sharpness
from deshadow.metrics.scores import score

PHOTOS = ("astronaut", "brick", "chelsea", "coffee", "grass", "gravel", "hubble_deep_field", "rocket")
LIGHTS = {"deep": (0.28, 0.32, 0.38), "faint": (0.5, 0.55, 0.6)}
"""Shares of red, green and blue light that remain in the shadow."""


def main() -> None:
    remover = deshadow.Remover(sys.argv[1] if len(sys.argv) > 1 else "light")
    print(f"{'':26} {'before':>10} {'Quick':>14} {'Removal':>14}")
    print(f"{'photo':18} {'shadow':7} {'ΔE':>10}" + 2 * f" {'ΔE':>7} {'sharp':>6}")
    for name in PHOTOS:
        photo = getattr(data, name)()
        clean = np.ascontiguousarray(photo) if photo.ndim == 3 else np.stack(3 * [photo], axis=-1)
        shade = blob(clean.shape[:2])
        mask = shade > 0.05
        for kind, left in LIGHTS.items():
            share = 1 - shade[..., None] * (1 - np.array(left))
            shadow = round_to_8_bits(linear_to_srgb(decode_srgb(clean) * share))
            line = f"{name:18} {kind:7} {difference(shadow, clean, mask):10.1f}"
            for mode in ("quick", "removal"):
                result = remover.remove(shadow, mask, mode=mode)
                sharp = sharpness([score(result, clean, mask)])
                line += f" {difference(result, clean, mask):7.2f} {sharp:6.2f}"
            print(line, flush=True)


def blob(shape: tuple[int, int]) -> NDArray[np.float64]:
    """(H, W) in [0, 1]: an uneven shadow over about a fifth of the picture, with a penumbra."""
    rng = np.random.default_rng(0)
    scale = min(shape)
    field = gaussian(rng.standard_normal(shape), scale / 8)
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    near = ((rows / shape[0] - 0.5) ** 2 + (columns / shape[1] - 0.5) ** 2) < 0.12
    inside = near & (field > np.quantile(field[near], 0.4))
    edge: NDArray[np.float64] = gaussian(inside.astype(float), scale / 200)
    return edge


def difference(one: NDArray[np.uint8], other: NDArray[np.uint8], mask: NDArray[np.bool_]) -> float:
    """ΔE (CIE 1976) of the mean colours of a region."""
    means = [color.rgb2lab(picture)[mask].mean(axis=0) for picture in (one, other)]
    return float(np.linalg.norm(means[0] - means[1]))


if __name__ == "__main__":
    main()
