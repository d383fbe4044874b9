"""What the parts of long photos are worth: errors of Quick and of the detector, in parts and as a whole.

python benchmarks/panorama.py FOLDER [SPLIT] makes long photos of pairs side by side.
"""

import sys

import numpy as np
from numpy.typing import NDArray

import deshadow
from deshadow.data.pairs.find import PairSet, find
from deshadow.data.pairs.sample import Triplet
from deshadow.metrics.scores import lab_difference
from deshadow.removal import parts

SHAPES = (2.5, 3.0)
COUNT = 8
"""Photos of each shape."""
Codes = NDArray[np.uint8]


def main(folder: str, split: str | None = None) -> None:
    pairs, remover, ordinary = find(folder, split), deshadow.Remover(), parts.LONGEST
    for shape in SHAPES:
        for how, longest in (("whole", shape + 1), ("parts", ordinary)):
            parts.LONGEST = longest
            errors, overlaps = [], []
            for index in range(COUNT):
                photo, mask, clean = place_side_by_side(pairs, index * len(pairs) // COUNT, shape)
                inside = mask > 127
                errors.append(lab_difference(remover.remove(photo, mask), clean, inside))
                found = remover.detect(photo.astype(np.float32) / np.float32(255)) > 0.5
                overlaps.append((found & inside).sum() / (found | inside).sum())
            error, overlap = np.mean(errors), np.mean(overlaps)
            print(f"{shape}:1, {how}: error in the shadow {error:.2f}, IoU of the detector {overlap:.3f}")


def place_side_by_side(pairs: PairSet, first: int, shape: float) -> tuple[Codes, Codes, Codes]:
    """Photo, mask and clean picture of this shape, from pictures that are wider than high."""
    triplets = list[Triplet]()
    width, height, index = 0, 10**9, first
    while not triplets or width < shape * height:
        triplet = pairs[index % len(pairs)].load()
        index += 7
        if triplet[0].shape[0] <= triplet[0].shape[1]:
            triplets.append(triplet)
            width, height = width + triplet[0].shape[1], min(height, len(triplet[0]))
    joined = [
        np.concatenate([each[:height] for each in kind], axis=1) for kind in zip(*triplets, strict=True)
    ]
    photo, mask, clean = (each[:, : round(shape * height)] for each in joined)
    return photo, mask, clean


if __name__ == "__main__":
    main(*sys.argv[1:])
