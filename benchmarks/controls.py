"""How far steps, seed and sampler move a photo's shadow: mean absolute difference in 255ths, in the shadow.

python benchmarks/controls.py PHOTOS [WEIGHTS]

PHOTOS is a folder, of which 8 photos are taken, evenly spaced by name. A setting is compared with another one
that differs in a single control. The page has no control that moves the shadow by less than 1.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import deshadow
from deshadow.data.pairs.find import pick_evenly
from deshadow.photo import read_photo
from deshadow.removal.options import RemovalOptions
from deshadow.removal.tasks import plan_tasks

COUNT = 8
BASE = RemovalOptions()
FEW = replace(BASE, steps=4)
PAIRS = {
    "steps 4": (FEW, BASE),
    "steps 10": (replace(BASE, steps=10), BASE),
    "seed 1": (replace(BASE, seed=1), BASE),
    "seed 1, of 4 steps": (replace(FEW, seed=1), FEW),
    "dpm, of 4 steps": (replace(FEW, sampler="dpm"), FEW),
}
"""A setting and the one that it is compared with, by name."""


def main(folder: str, weights: str = "light") -> None:
    photos = [Path(str(task.photo)) for task in pick_evenly(plan_tasks([folder], None), COUNT)]
    remover = deshadow.Remover(weights)
    print(f"{'':22}{'Quick':>14}{'Removal':>18}")
    print(f"{'':22}{'mean':>7}{'most':>7}{'mean':>11}{'most':>7}")
    moved = [found for photo in photos if (found := dict(measure(remover, photo)))]
    for name in PAIRS:
        line = f"{name:22}"
        for mode in ("quick", "removal"):
            values = [each[mode, name] for each in moved if (mode, name) in each]
            line += f"{np.mean(values):7.2f}{np.max(values):7.2f}    " if values else f"{'':18}"
        print(line)
    print(f"{len(moved)} photos; most: of the photo that moves most")


def measure(remover: deshadow.Remover, path: Path) -> Iterator[tuple[tuple[str, str], float]]:
    """By how many levels each setting moves the shadow of a photo, by mode and name of the setting."""
    pixels = read_photo(path).pixels
    selection = remover.select(pixels)
    inside = selection.mask > 0.5
    if not inside.any():
        return
    for mode in ("quick", "removal"):
        done: dict[RemovalOptions, NDArray[np.float32]] = {}
        for name, (first, second) in PAIRS.items():
            if mode == "removal" and first.steps > FEW.steps:
                continue  # minutes a photo
            for options in (first, second):
                if options not in done:
                    found = remover.relight(pixels, selection, replace(options, mode=mode))
                    assert found is not None
                    done[options] = found.composite(pixels)[inside]
            yield (mode, name), 255 * float(np.abs(done[first] - done[second]).mean())


if __name__ == "__main__":
    main(*sys.argv[1:])
