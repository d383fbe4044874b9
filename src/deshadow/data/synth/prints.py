"""Printed pages and posters as backgrounds: photos show many, and sets of evenly lit pictures hardly any.

python -m deshadow.data.synth.prints pages|posters FOLDER COUNT
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from deshadow.data.pairs.pictures import save_picture
from deshadow.data.synth.pages import draw_page
from deshadow.data.synth.posters import draw_poster

DRAWERS = {"pages": draw_page, "posters": draw_poster}
SIDE = 448
"""Side of a picture, in pixels."""
SHARPER = 2
"""Pictures are drawn so many times larger, and then reduced."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write pages or posters as PNG into a folder."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 3 or given[0] not in DRAWERS or not given[2].isdigit():
        sys.exit(__doc__)
    folder = Path(given[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(int(given[2])):
        save_picture(folder / f"{given[0]}-{number:03d}.png", np.asarray(draw_print(given[0], number)))


def draw_print(kind: str, number: int) -> Image.Image:
    """Page or poster of this number, (SIDE, SIDE): in nearly even light, a little grainy, rotated."""
    rng = np.random.default_rng(number)
    drawn = np.asarray(DRAWERS[kind](rng, SHARPER * SIDE))
    height, width = drawn.shape[:2]
    grain = rng.normal(0, rng.uniform(0, 4), (height, width, 1))
    rows, columns = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    light = 1 + rng.uniform(-0.12, 0.12) * rows + rng.uniform(-0.12, 0.12) * columns
    codes = (drawn * light[..., None] + grain).clip(0, 255).round().astype(np.uint8)
    blurred = Image.fromarray(codes).filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.5)))
    return blurred.resize((SIDE, SIDE)).rotate(90 * int(rng.integers(4)))


if __name__ == "__main__":
    main()
