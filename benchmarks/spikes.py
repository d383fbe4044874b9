"""Spikes in the features of a denoiser, and the spots that they leave in its results.

python benchmarks/spikes.py SRD [--split val] [--weights light] [--count 60]

A network whose group norms remove the level of a picture can pass it on by one very large feature at one
spot. For each block this prints the largest feature over the root mean square of all, as the median over
pictures. Then, for the spot of the largest feature of the last block: by how much brighter or darker than the
truth the result is within 5 pixels, less the same at 12 to 24 pixels, in levels of 255 (the median and the
largest over pictures, without sign); and in how many pictures the spot lies in the shadow.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from deshadow.data.pairs.find import find, pick_evenly
from deshadow.runtime.backend import sample_picture
from deshadow.runtime.checkpoint import load_remover
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.training.batches import dilate_masks, stack_samples

SIDE = 256
SPOT, RING = 5, (12, 24)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="val")
    parser.add_argument("--weights", default="light")
    parser.add_argument("--count", type=int, default=60)
    chosen = parser.parse_args()
    pairs = stack_samples(pick_evenly(find(chosen.data, chosen.split).samples, chosen.count), (SIDE, SIDE))
    backend = TorchBackend(load_remover(chosen.weights), precision="float32")
    blocks = {
        f"{way} {number}": block
        for way in ("down", "middle", "up")
        for number, block in enumerate(getattr(backend.model.denoiser, way))
    }
    seen = watch(blocks)
    excess, in_shadow, ratios = [], [], defaultdict[str, list[float]](list)
    for picture, mask, clean in zip(*(torch.split(view, 1) for view in pairs), strict=True):
        noisy = np.random.default_rng(0).standard_normal(picture.shape)
        given = picture.float() / 127.5 - 1
        found = sample_picture(backend, given, dilate_masks(mask), torch.from_numpy(noisy).float(), steps=1)
        for name, features in seen.items():
            ratios[name].append(float(features.abs().max() / features.square().mean().sqrt()))
        row, column = find_spot(seen[list(blocks)[-1]])
        error = ((found + 1) * 127.5 - clean)[0].mean(0)
        excess.append(measure_excess(error, row, column))
        in_shadow.append(bool(mask[0, 0, row, column]))
    print("| block | largest feature over root mean square |\n|---|---|")
    for name, values in ratios.items():
        print(f"| {name} | {np.median(values):.0f} |")
    sizes = np.abs(excess)
    print(
        f"\nspot: {np.median(sizes):.1f} levels, {sizes.max():.1f} at most; in the shadow: {sum(in_shadow)}"
    )


def watch(blocks: dict[str, nn.Module]) -> dict[str, Tensor]:
    """The output of each block at the last call, by its name."""
    seen: dict[str, Tensor] = {}
    for name, block in blocks.items():
        block.register_forward_hook(lambda _, __, output, name=name: seen.__setitem__(name, output))
    return seen


def find_spot(features: Tensor) -> tuple[int, int]:
    """(1, C, h, w) → row and column of the largest feature, in pixels of the picture."""
    largest = features[0].abs().amax(0)
    row, column = divmod(int(largest.argmax()), largest.shape[1])
    scale = SIDE // largest.shape[1]
    return scale * row + scale // 2, scale * column + scale // 2


def measure_excess(error: Tensor, row: int, column: int) -> float:
    """(H, W) → the mean error at a spot less that around it."""
    rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    distance = torch.hypot((rows - row).float(), (columns - column).float())
    around = (distance > RING[0]) & (distance < RING[1])
    return float(error[distance < SPOT].mean() - error[around].mean())


if __name__ == "__main__":
    main()
