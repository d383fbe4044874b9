"""How well derived masks agree with those that a data set brings, and how fast the set is read.

python benchmarks/derived_masks.py DIR [SPLIT]
"""

import sys
import time

import numpy as np

from deshadow.data.pairs.derive import derive_mask
from deshadow.data.pairs.find import find


def main(folder: str, split: str | None = None) -> None:
    start = time.perf_counter()
    pairs = find(folder, split)
    print(f"{len(pairs):,} pairs found in {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    triplets = [sample.load() for sample in pairs if sample.mask_file is not None]
    each = (time.perf_counter() - start) / len(triplets)
    print(f"{len(triplets):,} triplets decoded, {each * 1e3:.0f} ms each")
    start = time.perf_counter()
    agreement = []
    for picture, given, clean in triplets:
        derived, truth = derive_mask(picture, clean) > 0, given > 0
        agreement.append((derived & truth).sum() / max((derived | truth).sum(), 1))
    each = (time.perf_counter() - start) / len(triplets)
    print(f"masks derived, {each * 1e3:.0f} ms each")
    print(f"intersection over union: mean {np.mean(agreement):.3f}, least {np.min(agreement):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
