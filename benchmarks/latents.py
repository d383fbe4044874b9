"""The pictures of the docs that show what guides a removal, from photos of scikit-image with drawn shadows.

python benchmarks/latents.py docs/latent.webp                                        the weights that ship
python benchmarks/latents.py docs/guidances.webp COLOUR COARSE LATENT                weights of several runs

The photos are in the public domain (CC0); their shadows are drawn as `deshadow synth` draws them.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from PIL import Image
from skimage import data

from deshadow.cli.latent import draw_latents
from deshadow.data.rng import Draws
from deshadow.data.synth.procedural import draw_occluders
from deshadow.data.synth.recipe import DEFAULT_RECIPE
from deshadow.data.synth.triplets import cast_shadows

SHADOWS = {"coffee": 8, "brick": 10}
"""Photos of scikit-image, and the number of the shadow that falls on each."""
SIDE = 352


def main(output: str, *weights: str) -> None:
    with TemporaryDirectory() as folder:
        photos = tuple(str(write_scene(Path(folder), *each)) for each in SHADOWS.items())
        masks = Path(folder) / "masks"
        for line in draw_latents(photos, Path(output), weights or ("light",), masks, "detector", "auto"):
            print(line)


def write_scene(folder: Path, name: str, number: int) -> Path:
    """Write a photo with a shadow, and its mask to masks/; returns the path of the photo."""
    photo = Image.fromarray(np.ascontiguousarray(getattr(data, name)())).convert("RGB")
    photo.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    lit = torch.from_numpy(np.array(photo)).permute(2, 0, 1)[None]
    made = cast_shadows(lit, draw_occluders(32), Draws(0, torch.tensor([number])), DEFAULT_RECIPE)
    path = folder / f"{name}.png"
    Image.fromarray(made.picture[0].permute(1, 2, 0).numpy()).save(path)
    (folder / "masks").mkdir(exist_ok=True)
    Image.fromarray(made.mask[0, 0].numpy()).save(folder / "masks" / path.name)
    return path


if __name__ == "__main__":
    main(*sys.argv[1:])
