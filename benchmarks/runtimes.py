"""One step of a remover on the CPU, encoder included: OpenVINO and torch against onnxruntime.

python benchmarks/runtimes.py [WEIGHTS] [SIDE]
"""

import sys
import time

import numpy as np

from deshadow.runtime.backend import condition
from deshadow.runtime.choice import Chosen
from deshadow.runtime.onnx_backend import OnnxBackend
from deshadow.runtime.open import open_backend

RUNTIMES: tuple[Chosen, ...] = ("onnxruntime", "openvino", "torch")


def main() -> None:
    weights = sys.argv[1] if len(sys.argv) > 1 else "light"
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    rng = np.random.default_rng(0)
    picture, noisy = rng.uniform(-1, 1, (2, 1, 3, side, side)).astype(np.float32)
    mask = np.ones((1, 1, side, side), np.float32)
    backends = {name: open_backend(weights, "cpu", runtime=name) for name in RUNTIMES}
    spans: dict[Chosen, list[float]] = {name: [] for name in RUNTIMES}
    for _ in range(10):
        for name, backend in backends.items():  # in turn, since other work slows all alike
            start = time.perf_counter()
            condition(backend, picture, mask)(noisy, backend.config.schedule.length)
            spans[name].append(time.perf_counter() - start)
    for name, backend in backends.items():
        precision = backend.precision if isinstance(backend, OnnxBackend) else "float32"
        ratio = min(spans[name]) / min(spans["onnxruntime"])
        print(f"{name:11} in {precision:8} {min(spans[name]):.3f} s, {ratio:.2f} of onnxruntime")


if __name__ == "__main__":
    main()
