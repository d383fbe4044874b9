"""LPIPS, a learned perceptual distance, where its package is installed."""

from collections.abc import Callable
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def lpips_distance() -> Callable[[Pixels, Pixels], float]:
    """(H, W, 3), (H, W, 3) → LPIPS with AlexNet's features, the variant that most papers print."""
    if find_spec("lpips") is None:
        raise ValueError(
            "--lpips needs the package lpips, which no extra of deshadow brings: pip install lpips"
        )
    import lpips
    import torch

    model = lpips.LPIPS(net="alex", verbose=False).eval()
    turn = Lock()

    def distance(result: Pixels, truth: Pixels) -> float:
        tensors: list[Any] = [
            torch.from_numpy(np.ascontiguousarray(each.transpose(2, 0, 1)[None])).float() / 127.5 - 1
            for each in (result, truth)
        ]
        with torch.no_grad(), turn:
            return float(model(*tensors))

    return distance
