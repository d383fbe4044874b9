"""How long a batch of pictures takes, encoder included: in onnxruntime or torch, on a CPU or a GPU.

python benchmarks/latency.py [WEIGHTS] [--steps 1 4] [--size 256] [--batch 1] [--device auto] [--repeat 20]
"""

import argparse
import time

import numpy as np

from deshadow.runtime.backend import sample_picture
from deshadow.runtime.open import open_backend


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("weights", nargs="?", default="light")
    parser.add_argument("--steps", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeat", type=int, default=20)
    chosen = parser.parse_args()
    backend = open_backend(chosen.weights, chosen.device)
    rng = np.random.default_rng(0)
    picture = rng.uniform(-1, 1, (chosen.batch, 3, chosen.size, chosen.size)).astype(np.float32)
    mask = (rng.uniform(size=(chosen.batch, 1, chosen.size, chosen.size)) > 0.5).astype(np.float32)
    noise = rng.standard_normal(picture.shape).astype(np.float32)
    for steps in chosen.steps:
        seconds = []
        for _ in range(chosen.repeat + 2):  # the first ones settle on kernels and record graphs
            start = time.perf_counter()
            # From numpy to numpy: the copies to a GPU and back are part of it, and wait for its end.
            sample_picture(backend, picture, mask, noise, steps=steps)
            seconds.append(time.perf_counter() - start)
        median, best = np.median(seconds[2:]), min(seconds[2:])
        print(
            f"{type(backend).__name__}, {chosen.batch} of {chosen.size}×{chosen.size}, "
            f"{steps} step{'s' * (steps > 1)}: {1e3 * median:.1f} ms (best {1e3 * best:.1f}), "
            f"{chosen.batch / median:.0f} pictures/s"
        )


if __name__ == "__main__":
    main()
