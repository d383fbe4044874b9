"""The command `deshadow` run in this process, photos and masks for it, and what a refusal looks like."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Ended]


def write_photo(path: Path, size: tuple[int, int] = (40, 56), seed: int = 0, **options: Any) -> np.ndarray:
    codes = np.random.default_rng(seed).integers(20, 200, (*size, 3), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(codes).save(path, **options)
    return codes


def write_mask(path: Path, size: tuple[int, int] = (40, 56)) -> Path:
    """Its left quarter is shadow."""
    mask = np.zeros(size, np.uint8)
    mask[:, : max(1, size[1] // 4)] = 255
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(mask).save(path)
    return path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def failed_in_one_line(ended: Ended, *words: str) -> None:
    assert ended.code == 2
    assert ended.err.startswith("deshadow: ")
    assert ended.err.count("\n") == 1, ended.err
    for word in words:
        assert word in ended.err
