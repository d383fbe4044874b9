"""Training speed: images/s, TFLOP/s, and the share of the time that goes into data.

python benchmarks/training.py [--recipe light] [--batch 128] [--size 256] [--steps 60] [--no-compiled]
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from deshadow.data.augment import Pairs
from deshadow.data.synth.procedural import draw_backgrounds
from deshadow.nn.layout import model_cost
from deshadow.training.arguments import build
from deshadow.training.loop import Run
from deshadow.training.options import TrainingOptions
from deshadow.training.recipes import RECIPES
from deshadow.training.recorded import SETTLING
from deshadow.training.world import join_processes

PAIRS = 64


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--recipe", default="light")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--compiled", action=argparse.BooleanOptionalAction)
    chosen = parser.parse_args()
    # The recipe itself, in its second stage; of the data only the pictures are others.
    recipe = {"synthetic": 0.3} | RECIPES[chosen.recipe] | {"size": chosen.size}
    recipe |= {"out": Path(tempfile.mkdtemp()), "images": 10**9, "val_count": 1, "compiled": chosen.compiled}
    if chosen.batch:
        recipe["batch"] = chosen.batch
    options = build(TrainingOptions, recipe)
    batch = options.optimization.batch
    with join_processes("auto") as world:
        run = Run(options, world, {})
        run.state.end_stage_one()
        clean = draw_backgrounds(PAIRS, 2 * chosen.size, device=world.device)
        mask = torch.zeros(PAIRS, 1, *clean.shape[2:], dtype=torch.bool, device=world.device)
        mask[..., chosen.size // 2 :] = True
        picture = torch.where(mask, clean // 3, clean)
        run.source = replace(run.source, real=Pairs(picture, mask, clean), synthetic=options.inputs.synthetic)
        start = time.perf_counter()
        for _ in range(SETTLING + 1):
            run.step()
        wait(world.device)
        print(f"first steps, compiling and recording included: {time.perf_counter() - start:.0f} s")
        whole = timed(chosen.steps, run.step, world.device)
        numbers = iter(range(10**6, 10**9, batch))
        data = timed(chosen.steps, lambda: run.source.batch(next(numbers), batch), world.device)
    cost = model_cost(options.network.model, chosen.size, chosen.size)
    # Forward and twice that backward; the encoder sees the clean picture as well, without going back.
    flop = 3 * (cost["denoiser"].flop + cost["fusion"].flop) + 4 * cost["encoder"].flop
    speed = chosen.steps * batch / whole
    print(
        f"{chosen.recipe}, {chosen.size}×{chosen.size}, batch {batch}: {speed:,.0f} images/s, "
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
