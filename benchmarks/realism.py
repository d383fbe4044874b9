"""How far the histograms of synthetic shadows cover those of real ones.

`python benchmarks/realism.py --real SRD --split val --backgrounds DIR --occluders DIR` prints the shared
area of the histograms of the log ratio in red, green and blue, and of the edge width.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from deshadow.data.pairs.find import find
from deshadow.data.realism import Measures, measure_pairs, overlap
from deshadow.data.synth.banks import load_backgrounds, load_silhouettes
from deshadow.data.synth.procedural import draw_backgrounds, draw_occluders
from deshadow.data.synth.recipe import SHADOW_RECIPES, ShadowRecipe
from deshadow.data.synth.triplets import synthesise

SIZE = 256
Pair = tuple[NDArray[np.uint8], NDArray[np.uint8]]


def real_pairs(folder: Path, split: str) -> Iterator[Pair]:
    """Pairs of one split of a data set, at 256×256."""
    for sample in find(folder, split, skip_problems=True):
        picture, _, clean = sample.load()
        yield shrink(picture), shrink(clean)


def shrink(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(Image.fromarray(picture).resize((SIZE, SIZE), Image.Resampling.BOX))


def synthetic_pairs(options: argparse.Namespace, recipe: ShadowRecipe) -> Iterator[Pair]:
    """Pairs as `deshadow synth --targets all` makes them."""
    torch.set_num_threads(1)
    if options.backgrounds:
        backgrounds = torch.cat([load_backgrounds(path, SIZE) for path in options.backgrounds])
    else:
        backgrounds = draw_backgrounds(56, SIZE, options.seed)
    objects = load_silhouettes(options.occluders) if options.occluders else None
    occluders = draw_occluders(32, seed=options.seed, objects=objects)
    for index in torch.split(torch.arange(options.count), 4):
        made = synthesise(backgrounds, occluders, index, options.seed, recipe)
        for picture, clean in zip(made.picture, made.clean, strict=True):
            yield picture.permute(1, 2, 0).numpy(), clean.permute(1, 2, 0).numpy()


def compare(name: str, first: Measures, second: Measures) -> None:
    red, green, blue = (overlap(a, b) for a, b in zip(first.ratio, second.ratio, strict=True))
    width = overlap(first.width, second.width)
    print(f"{name}: log ratio {red:.3f} red, {green:.3f} green, {blue:.3f} blue; edge width {width:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--real", type=Path, required=True, help="folder of a data set of real pairs")
    parser.add_argument("--split", default="val")
    parser.add_argument("--against", help="also compare this split with --split: what two real sets share")
    parser.add_argument("--backgrounds", type=Path, nargs="+")
    parser.add_argument("--occluders", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", choices=list(SHADOW_RECIPES), default="sunlight")
    options = parser.parse_args()
    real = measure_pairs(real_pairs(options.real, options.split))
    print(f"real, {options.split}: {real.pairs} pairs, {real.edges} edge points")
    made = measure_pairs(synthetic_pairs(options, replace(SHADOW_RECIPES[options.preset], targets="all")))
    print(f"synthetic: {made.pairs} pairs, {made.edges} edge points")
    compare("synthetic and real", made, real)
    if options.against:
        compare(
            f"{options.against} and {options.split}",
            measure_pairs(real_pairs(options.real, options.against)),
            real,
        )


if __name__ == "__main__":
    main()
