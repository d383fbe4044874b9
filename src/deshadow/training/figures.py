"""The figures of results on a set of pairs, by `deshadow.metrics`, and tables of them."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.metrics.pooling import none_for_nan, pool, sharpness
from deshadow.metrics.scores import score

COLUMNS = ("LAB S", "LAB N", "LAB A", "PSNR S", "PSNR N", "PSNR A", "SSIM S", "sharpness")
"""Headings of `cells`. S: in the shadow, N: outside it, A: everywhere."""


def measure_figures(removed: Tensor, pairs: Pairs) -> dict[str, Any]:
    """(N, 3, H, W) of 8 bits against the truth: `regions` with LAB error, PSNR and SSIM, and `sharpness`."""
    results, truths = (view.permute(0, 2, 3, 1).cpu().numpy() for view in (removed, pairs.clean))
    with ThreadPoolExecutor() as threads:
        scores = list(threads.map(score, results, truths, pairs.mask[:, 0].cpu().numpy()))
    regions = {name: none_for_nan(asdict(region)) for name, region in pool(scores).items()}
    return {"regions": regions, **none_for_nan({"sharpness": sharpness(scores)})}


def cells(found: Mapping[str, Any]) -> list[str]:
    """The figures of one result as the columns of a table."""
    regions = found["regions"]
    errors, ratios = ([regions[name][kind] for name in regions] for kind in ("lab_mae", "psnr"))
    columns = [cell(value) for value in (*errors, *ratios)]
    return [*columns, cell(regions["shadow"]["ssim"], 3), cell(found["sharpness"])]


def cell(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def table_lines(headings: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]
