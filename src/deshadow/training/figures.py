"""The figures of results on a set of pairs, by `deshadow.metrics`."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.metrics.pooling import none_for_nan, pool, sharpness
from deshadow.metrics.scores import score


def measure_figures(removed: Tensor, pairs: Pairs) -> dict[str, Any]:
    """(N, 3, H, W) of 8 bits against the truth: `regions` with LAB error, PSNR and SSIM, and `sharpness`."""
    results, truths = (view.permute(0, 2, 3, 1).cpu().numpy() for view in (removed, pairs.clean))
    with ThreadPoolExecutor() as threads:
        scores = list(threads.map(score, results, truths, pairs.mask[:, 0].cpu().numpy()))
    regions = {name: none_for_nan(asdict(region)) for name, region in pool(scores).items()}
    return {
        "pictures": len(results),
        "regions": regions,
        **none_for_nan({"sharpness": sharpness(scores)}),
    }
