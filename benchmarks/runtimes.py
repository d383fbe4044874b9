"""One step of a preset at 256×256 on the CPU, encoder included: onnxruntime against torch.

python benchmarks/runtimes.py [PRESET]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from deshadow.nn.config import find_preset
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime.backend import Backend, condition
from deshadow.runtime.checkpoint import load_remover, save_model
from deshadow.runtime.export import export
from deshadow.runtime.onnx_backend import OnnxBackend
from deshadow.runtime.torch_backend import TorchBackend


def main() -> None:
    config = find_preset(sys.argv[1] if len(sys.argv) > 1 else "light")
    rng = np.random.default_rng(0)
    picture, noisy = rng.uniform(-1, 1, (2, 1, 3, 256, 256)).astype(np.float32)
    mask = np.ones((1, 1, 256, 256), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.safetensors"
        save_model(path, LFGDiffusion(config))
        export(path)
        backends: dict[str, Backend] = {
            "onnxruntime": OnnxBackend(path),
            "torch": TorchBackend(load_remover(path)),
        }
        best = {}
        for name, backend in backends.items():
            spans = []
            for _ in range(10):
                start = time.perf_counter()
                condition(backend, picture, mask)(noisy, config.schedule.length)
                spans.append(time.perf_counter() - start)
            best[name] = min(spans)
            print(f"{name:12} {best[name]:.3f} s")
    print(
        f"onnxruntime to torch: {best['onnxruntime'] / best['torch']:.2f} ({torch.get_num_threads()} threads)"
    )


if __name__ == "__main__":
    main()
