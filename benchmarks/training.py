"""Training speed: images/s, TFLOP/s, and the share of the time that goes into data.

python benchmarks/training.py [--preset light] [--batch 64] [--synthetic 0.25] [--steps 60]
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch

from deshadow.data.augment import Pairs
from deshadow.data.procedural import draw_backgrounds
from deshadow.layout import model_cost
from deshadow.training.batches import Source, banks
from deshadow.training.loop import Run
from deshadow.training.options import Options
from deshadow.training.world import joined

PAIRS = 64


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="light")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--synthetic", type=float, default=0.25)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--size", type=int, default=256)
    chosen = parser.parse_args()
    options = Options(
        out=Path(tempfile.mkdtemp()),
        preset=chosen.preset,
        batch=chosen.batch,
        size=chosen.size,
        synthetic=chosen.synthetic,
        images=10**9,
        pretrain=0.0,
        val_count=1,
    )
    with joined("auto") as world:
        run = Run(options, world, {})
        clean = draw_backgrounds(PAIRS, 2 * chosen.size, device=world.device)
        mask = torch.zeros(PAIRS, 1, *clean.shape[2:], dtype=torch.bool, device=world.device)
        mask[..., chosen.size // 2 :] = True
        picture = torch.where(mask, clean // 3, clean)
        run.source = Source(
            Pairs(picture, mask, clean),
            *banks(options, world.device),
            chosen.synthetic,
            options.instances,
            chosen.size,
            seed=0,
            timesteps=1000,
            final=0.5,
            device=world.device,
        )
        start = time.perf_counter()
        for _ in range(3):
            run.step()
        wait(world.device)
        print(f"first three steps, compilation included: {time.perf_counter() - start:.0f} s")
        whole = timed(chosen.steps, run.step, world.device)
        numbers = iter(range(10**6, 10**9, chosen.batch))
        data = timed(chosen.steps, lambda: run.source.batch(next(numbers), chosen.batch), world.device)
    cost = model_cost(options.model, chosen.size, chosen.size)
    # Forward and twice that backward; the encoder sees the clean picture as well, without going back.
    flop = 3 * (cost["denoiser"].flop + cost["fusion"].flop) + 4 * cost["guide"].flop
    speed = chosen.steps * chosen.batch / whole
    print(
        f"{chosen.preset}, {chosen.size}×{chosen.size}, batch {chosen.batch}: {speed:,.0f} images/s, "
        f"{speed * flop / 1e12:.1f} TFLOP/s, {data / whole:.0%} of the time in data"
    )


def timed(steps: int, step: object, device: torch.device) -> float:
    assert callable(step)
    wait(device)
    start = time.perf_counter()
    for _ in range(steps):
        step()
    wait(device)
    return time.perf_counter() - start


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
