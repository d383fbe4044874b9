"""How well denoisers know the colour of the clean picture at each noise level, and after sampling from noise.

python benchmarks/estimates.py SRD WEIGHTS… [--split val] [--count 32] [--steps 50]

For each timestep t: the denoiser sees the clean picture diffused to t, and estimates the clean picture. This
prints by how much the mean colour of the estimate differs from that of the truth, in levels of 255: the mean
over channels and pictures, without sign. Then the same for the states at t that DDIM
makes from pure noise.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.data.pairs.find import find, pick_evenly
from deshadow.diffusion.prediction import diffuse
from deshadow.diffusion.sampling import ddim
from deshadow.runtime.backend import condition
from deshadow.runtime.checkpoint import load_remover
from deshadow.runtime.device import choose_device
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.training.batches import dilate_masks, stack_samples

SIDE = 256
BATCH = 8


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", nargs="+")
    parser.add_argument("--split", default="val")
    parser.add_argument("--count", type=int, default=32)
    parser.add_argument("--steps", type=int, default=50)
    chosen = parser.parse_args()
    samples = pick_evenly(find(chosen.data, chosen.split).samples, chosen.count)
    pairs = Pairs(*stack_samples(samples, (SIDE, SIDE)))
    noise = torch.randn(pairs.picture.shape, generator=torch.Generator().manual_seed(0))
    for path in chosen.weights:
        backend = TorchBackend(load_remover(path), choose_device("auto"), "float32")
        found = torch.stack(
            [
                measure(backend, Pairs(*part[:3]), part[3], chosen.steps)
                for part in zip(*(torch.split(view, BATCH) for view in (*pairs, noise)), strict=True)
            ]
        ).mean(dim=0)
        print(f"{path}\n| t | clean picture diffused to t | state sampled from noise |\n|---|---|---|")
        times = backend.config.schedule.times(chosen.steps)[:-1]
        for t, (told, sampled) in zip(times, found.tolist(), strict=True):
            print(f"| {t} | {told:.1f} | {sampled:.1f} |", flush=True)


def measure(backend: TorchBackend, pairs: Pairs, noise: Tensor, steps: int) -> Tensor:
    """(steps, 2): for each timestep the error in colour of both estimates."""
    schedule, clean = backend.config.schedule, pairs.clean.float() / 127.5 - 1
    denoise = condition(backend, pairs.picture.float() / 127.5 - 1, dilate_masks(pairs.mask))
    sampled: list[float] = []

    def watch(state: Tensor, t: int) -> Tensor:
        estimate: Tensor = denoise(state, t)
        sampled.append(colour_error(estimate, clean))
        return estimate

    times = schedule.times(steps)
    for _ in ddim(watch, noise, schedule, times):
        pass
    told = [colour_error(denoise(diffuse(clean, noise, *schedule.level(t)), t), clean) for t in times[:-1]]
    return torch.tensor([told, sampled]).T


def colour_error(found: Tensor, clean: Tensor) -> float:
    """(B, 3, H, W) in [-1, 1], twice → levels of 255."""
    return 127.5 * float((found - clean).mean(dim=(2, 3)).abs().mean())


if __name__ == "__main__":
    main()
