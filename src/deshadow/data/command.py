"""`deshadow synth`: what was asked for on the command line into banks, a recipe and files."""

from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from deshadow.data.banks import open_banks
from deshadow.data.recipe import PRESETS, Darkness, Targets
from deshadow.data.writing import check_folder, write_triplets

DRAWN = 56, 32
"""Backgrounds, and occluders of each kind, where none are named."""


def synth_to_disk(
    out: Path,
    count: int,
    backgrounds: Path | None,
    occluders: Path | None,
    seed: int,
    size: int,
    preset: str,
    targets: Targets | None,
    dark_rate: tuple[float, float] | None,
    device: str,
) -> int:
    """Write `count` triplets with a progress bar and return how many were new."""
    if count < 1:
        raise ValueError("--count must be 1 or more")
    if not 32 <= size <= 4096:
        raise ValueError("--size must be between 32 and 4096")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):  # torch asserts that it was built for the device
        raise ValueError(f"torch cannot use the device {device!r} here: use --device cpu") from None
    check_folder(out)  # before any time goes into the banks
    recipe = PRESETS[preset]
    recipe = replace(recipe, targets=targets or recipe.targets)
    if dark_rate is not None:
        recipe = replace(recipe, darkness=Darkness.between(*dark_rate))
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("banks", total=None)
        surfaces, bank = open_banks(backgrounds, occluders, size, seed, DRAWN)
        bar.update(task, description="shadows", total=count)
        return write_triplets(
            out,
            surfaces.to(device),
            bank.to(device),
            count,
            seed,
            recipe,
            lambda more: bar.advance(task, more),
        )
