"""Small shadows in photos of 12 megapixels, of which the network sees a crop of the photo itself.

python benchmarks/small_shadows.py BACKGROUNDS [--seed 0] [--each 2] [--weights light]

BACKGROUNDS is backgrounds-1.tar, whose pictures were kept out of training; benchmarks/stitched_photos.py
makes the photos of them. A drawn silhouette of 250 to 900 pixels casts one shadow on a photo, with an edge
that is 1.5 to 20 pixels soft. For each shadow, and as the mean over all of them, the table has the LAB error
under the true mask and within 60 pixels around it: of the photo, of Quick where the network sees a copy of
512 pixels, of Quick as it is, and of Removal.
"""

import argparse
import math
from collections import defaultdict
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from stitched_photos import StitchedPhoto, lay_grounds

from deshadow.data.synth.occluders import OccluderKind, Occluders
from deshadow.data.synth.procedural import draw_occluders
from deshadow.image.colour import linear_to_srgb, round_to_8_bits, srgb_to_lab, srgb_to_linear
from deshadow.image.filters import approximate_gaussian_blur
from deshadow.removal import crop
from deshadow.removal.options import RemovalOptions
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection

SIDES = 250, 900
"""Pixels of the longer side of a silhouette."""
SOFT = 1.5, 4.0, 10.0, 20.0
"""Standard deviations of the blur of its edge in pixels."""
LEFT = np.array([0.25, 0.28, 0.34], np.float32)
"""Share of the light that is left in a shadow of average depth."""
AROUND = 60
METHODS = "photo", "Quick, from the copy", "Quick", "Removal"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("backgrounds", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=2, help="shadows on each of the eight grounds")
    parser.add_argument("--weights", default="light")
    given = parser.parse_args()
    remover, rng = Remover(given.weights), np.random.default_rng(given.seed)
    occluders = draw_occluders(8, size=1024, seed=given.seed)
    totals = defaultdict[str, list[tuple[float, float]]](list)
    print(f"| shadow | share of the photo | {' | '.join(METHODS)} |")
    print("|---" * (len(METHODS) + 2) + "|", flush=True)
    for layout, truth in lay_grounds(given.backgrounds, given.seed):
        for _ in range(given.each):
            photo = cast_small_shadow(layout.name.rpartition(",")[0], truth, occluders, rng)
            cells = []
            for method, result in remove_shadow(remover, photo).items():
                totals[method].append(score(photo, result))
                cells.append("{:.2f}, {:.2f}".format(*totals[method][-1]))
            print(f"| {photo.name} | {photo.mask.mean():.2%} | {' | '.join(cells)} |", flush=True)
    means = ["{:.2f}, {:.2f}".format(*np.mean(totals[method], axis=0)) for method in METHODS]
    print(f"| mean of {len(totals['photo'])} | | {' | '.join(means)} |")


def cast_small_shadow(
    name: str, truth: NDArray[np.uint8], occluders: Occluders, rng: np.random.Generator
) -> StitchedPhoto:
    """The photo (H, W, 3) with one shadow somewhere in it."""
    side, soft = round(rng.uniform(*SIDES)), float(rng.choice(SOFT))
    first, count = (int(each[OccluderKind.OBJECT]) for each in (occluders.first, occluders.count))
    silhouette = occluders.silhouettes[first + int(rng.integers(count)), 0].numpy()
    small = np.asarray(Image.fromarray(silhouette).resize((side, side)), np.float32) / 255
    blocked = approximate_gaussian_blur(np.pad(small, math.ceil(4 * soft)), soft)
    top, left = (int(rng.integers(size - len(blocked))) for size in truth.shape[:2])
    place = slice(top, top + len(blocked)), slice(left, left + len(blocked))
    light = 1 - blocked[..., None] * (1 - LEFT * np.float32(rng.uniform(0.7, 1.6)))
    picture, mask = truth.copy(), np.zeros(truth.shape[:2], np.bool_)
    linear = srgb_to_linear(truth[place].astype(np.float32) / np.float32(255))
    picture[place] = round_to_8_bits(linear_to_srgb(linear * light))
    mask[place] = blocked > 0.1
    return StitchedPhoto(f"{name}: {side} pixels, edge of {soft:g}", picture, truth, mask)


def remove_shadow(remover: Remover, photo: StitchedPhoto) -> dict[str, NDArray[np.uint8]]:
    """The results of all methods, (H, W, 3), by their names."""
    pixels = photo.picture.astype(np.float32) / np.float32(255)
    selection = Selection(photo.mask.astype(np.float32))

    def relight(options: RemovalOptions) -> NDArray[np.uint8]:
        found = remover.relight(pixels, selection, options)
        assert found is not None
        return round_to_8_bits(found.composite(pixels))

    with mock.patch.object(crop, "LARGER", math.inf):
        from_copy = relight(RemovalOptions())
    closer, windows = relight(RemovalOptions()), relight(RemovalOptions(mode="removal"))
    return dict(zip(METHODS, (photo.picture, from_copy, closer, windows), strict=True))


def score(photo: StitchedPhoto, result: NDArray[np.uint8]) -> tuple[float, float]:
    """LAB error under the mask, and around it."""
    rows, columns = (np.flatnonzero(photo.mask.any(axis=axis)) for axis in (1, 0))
    place = tuple(slice(max(0, each[0] - AROUND), each[-1] + 1 + AROUND) for each in (rows, columns))
    inside = photo.mask[place]
    error = np.abs(srgb_to_lab(result[place]) - srgb_to_lab(photo.truth[place])).sum(axis=-1)
    return float(error[inside].mean()), float(error[~inside].mean())


if __name__ == "__main__":
    main()
