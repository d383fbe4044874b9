"""Tables of figures in Markdown."""

from collections.abc import Mapping
from typing import Any

REGIONS = {"S": "shadow", "N": "non_shadow", "A": "all"}
FIGURES = {"LAB": ("lab_mae", 2), "PSNR": ("psnr", 2), "SSIM": ("ssim", 3)}
"""Headings of figures, with their names in a record and their digits."""
COLUMNS = (*(f"{figure} {region}" for figure in FIGURES for region in REGIONS), "sharpness")
"""Headings of `cells`. S: in the shadow, N: outside it, A: everywhere."""
ABOUT = (
    "S, N, A: in the shadow, outside it, everywhere. LAB: mean absolute difference summed over channels, the "
    'field\'s "RMSE". PSNR in dB. Sharpness: 1 is as sharp as the truth.'
)


def cells(found: Mapping[str, Any]) -> list[str]:
    """The figures of one result as the columns of a table."""
    regions = found["regions"]
    figures = [
        cell(regions[region][name], digits)
        for name, digits in FIGURES.values()
        for region in REGIONS.values()
    ]
    return [*figures, cell(found["sharpness"])]


def cell(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def table_lines(headings: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]
