"""`deshadow synth`: synthetic pairs with shadows, written to a folder."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from deshadow.data.synth.recipe import Targets

DRAWN = 56, 32
"""How many backgrounds, and occluders of each kind, are drawn where none are given."""


def synth(
    *,
    count: int,
    out: Path,
    backgrounds: Path | None = None,
    occluders: Path | None = None,
    seed: int = 0,
    size: int = 256,
    preset: Literal[
        "sunlight", "instances", "dappled", "coloured", "hard", "standing", "overcast"
    ] = "sunlight",
    targets: Literal["all", "one", "some"] | None = None,
    dark_rate: Annotated[tuple[float, float] | None, Parameter(negative=())] = None,
    responses: float = 0.0,
    device: str = "cpu",
) -> None:
    """Make pictures with shadows, the same pictures without them, and the masks.

    Writes shadow/, mask/, shadow_free/ and instances/ as PNG.
    The same seed gives the same files. The same command continues an interrupted run.

    Parameters
    ----------
    count
        Number of triplets.
    out
        Folder to write to: new, empty, or begun with the same settings.
    backgrounds
        Folder or tar of evenly lit pictures. By default brick, tiles, asphalt, grass, planks and more
        are drawn.
    occluders
        Folder or tar of silhouettes, bright or opaque where they block light. By default people, plants,
        hands and lumps are drawn. Foliage, buildings, bars and cables are always drawn.
    seed
        Seed of the random numbers; each seed gives other pictures.
    size
        Side of the pictures in pixels.
    preset
        sunlight: like real outdoor pairs. instances: several shadows, one of which is removed.
        dappled: shadows of trees. coloured: shadows behind coloured things. hard: edges about one pixel wide,
        as in a large photo that was downscaled. standing: one of the things that cast them is seen.
        overcast: weak and soft shadows.
    targets
        Which shadows are removed: all, one, or some. The default is the preset's.
    dark_rate
        Smallest and largest ratio of lit to shaded light, as in `--dark-rate 3 8`. The default is the
        preset's.
    responses
        Share of the triplets that are shown as another camera would give them: another tone curve, lifted
        dark areas, clipped highlights, sharpening or noise reduction, the same for both pictures.
    device
        Where to compute: cpu or cuda.
    """
    from deshadow.system.extras import require

    require("train", "torch")
    new = synth_to_disk(
        out, count, backgrounds, occluders, seed, size, preset, targets, dark_rate, responses, device
    )
    print(f"{out}: {count} triplets, {new} of them new")  # noqa: T201


def synth_to_disk(
    out: Path,
    count: int,
    backgrounds: Path | None,
    occluders: Path | None,
    seed: int,
    size: int,
    preset: str,
    targets: "Targets | None",
    dark_rate: tuple[float, float] | None,
    responses: float,
    device: str,
) -> int:
    """Write `count` triplets with a progress bar and return how many were new."""
    from deshadow.data.synth.banks import open_banks
    from deshadow.data.synth.recipe import SHADOW_RECIPES, Darkness
    from deshadow.data.synth.writing import check_folder, write_triplets
    from deshadow.runtime.device import choose_device
    from deshadow.system.progress import show_progress

    if count < 1:
        raise ValueError("--count must be 1 or more")
    if not 32 <= size <= 4096:
        raise ValueError("--size must be between 32 and 4096")
    if not 0 <= responses <= 1:
        raise ValueError("--responses must be between 0 and 1")
    device = choose_device(device)
    check_folder(out)  # before any time goes into the banks
    recipe = SHADOW_RECIPES[preset]
    recipe = replace(recipe, targets=targets or recipe.targets)
    if dark_rate is not None:
        recipe = replace(recipe, darkness=Darkness.between(*dark_rate))
    with show_progress("backgrounds and occluders") as bar:
        surfaces, bank = open_banks(backgrounds, occluders, size, seed, DRAWN)
        bar.begin("shadows", count)
        banks = surfaces.to(device), bank.to(device)
        return write_triplets(out, *banks, count, seed, recipe, bar.advance, responses)
