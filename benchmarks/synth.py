"""Synthetic triplets a second: `PYTHONPATH=src python benchmarks/synth.py --device cuda --batch 64`."""

import argparse
import time

import torch

from deshadow.data.synth.procedural import draw_backgrounds, draw_occluders
from deshadow.data.synth.triplets import Triplets, synthesise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    backgrounds = draw_backgrounds(14, options.size, device=device)
    occluders = draw_occluders(8, device=device)

    def make(index: torch.Tensor) -> Triplets:
        return synthesise(backgrounds, occluders, index)

    maker = torch.compile(make, dynamic=False) if options.compile else make
    index = torch.arange(options.batch, device=device)

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    for _ in range(3):
        maker(index)
    wait()
    begin, made = time.perf_counter(), 0
    while time.perf_counter() - begin < options.seconds:
        index = index + options.batch
        maker(index)
        made += options.batch
        if made % (8 * options.batch) == 0:
            wait()  # without it the loop would only queue work, and count what is not done
    wait()
    rate = made / (time.perf_counter() - begin)
    memory = f", {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB" if device.type == "cuda" else ""
    how = "compiled" if options.compile else "eager"
    where = f"{device}, batch {options.batch}, {how}{memory}"
    print(f"{rate:.0f} pictures/s at {options.size}×{options.size}, {where}")


if __name__ == "__main__":
    main()
