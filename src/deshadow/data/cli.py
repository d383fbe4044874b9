"""The commands of data sets. They import what they need when they run, so that `--help` answers at once."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from deshadow.data.layouts import Layout

data = App(name="data", help="Look at data sets, and prepare them.")

Folder = Annotated[Path, Parameter(help="The folder of the data set.")]
Split = Annotated[str | None, Parameter(help="One split, by its name: train, test, val. All, unless given.")]
SkipProblems = Annotated[
    bool, Parameter(negative=(), help="List pairs that cannot be used and go on without them.")
]


@data.command
def look(
    folder: Folder,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o", help="The contact sheet to write: .png, .jpg or .webp.")],
    split: Split = None,
    layout: Annotated[
        Layout | None,
        Parameter(help="How the folder is laid out. Found by looking, unless given."),
    ] = None,
    count: Annotated[int, Parameter(help="Triplets on the sheet, from all over the set.")] = 24,
    dark_rate: Annotated[
        Path | None, Parameter(help="Plot how dark the shadows are to this file: .png, .svg or .pdf.")
    ] = None,
    skip_problems: SkipProblems = False,
) -> None:
    """Draw a contact sheet of a data set and print its figures."""
    from rich.console import Console

    from deshadow.data import look as looking

    found = looking.look(folder, output, split, layout, count, dark_rate, skip_problems)
    console = Console(soft_wrap=True)
    console.print(looking.table(found), highlight=False)
    for problem in found.problems:
        console.print(f"problem: {problem}", highlight=False, markup=False)


@data.command
def adjust(
    folder: Folder,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o", help="The new folder, to be laid out as AISTD is.")],
    split: Split = None,
    skip_problems: SkipProblems = False,
) -> None:
    """Make AISTD from ISTD: bring shadow-free pictures to the colours of their shadow pictures."""
    from rich.console import Console

    from deshadow.data.aistd import adjust_folder

    count, before, after, problems = adjust_folder(folder, output, split, skip_problems)
    console = Console(soft_wrap=True)
    console.print(
        f"{output}: pairs {count:,}; mean difference outside the shadow, of 255: "
        f"{before:.2f} before, {after:.2f} after",
        highlight=False,
        markup=False,
    )
    for problem in problems:
        console.print(f"problem: {problem}", highlight=False, markup=False)


def synth(
    *,
    count: int,
    out: Path,
    backgrounds: Path | None = None,
    occluders: Path | None = None,
    seed: int = 0,
    size: int = 256,
    preset: Literal["sunlight", "instances", "dappled", "overcast"] = "sunlight",
    targets: Literal["all", "one", "some"] | None = None,
    dark_rate: Annotated[tuple[float, float] | None, Parameter(negative=())] = None,
    device: str = "cpu",
) -> None:
    """Make pictures with shadows, the same without, and the masks.

    Writes shadow/, mask/, shadow_free/ and instances/ as PNG. The same seed gives the same files, and
    a run that was broken off goes on where it stopped.

    Parameters
    ----------
    count
        How many triplets.
    out
        Folder to write to: new, empty, or begun with the same settings.
    backgrounds
        Folder or tar of evenly lit pictures. Left out: brick, tiles, asphalt, grass, planks and more
        are drawn.
    occluders
        Folder or tar of silhouettes, bright or opaque where they block light. Left out: people, plants,
        hands and lumps are drawn. Foliage, buildings, bars and cables are always drawn.
    seed
        Another seed, other pictures.
    size
        Side of the pictures in pixels.
    preset
        sunlight: like real outdoor pairs. instances: several shadows, one to remove. dappled: under
        trees. overcast: weak and soft.
    targets
        Which shadows to remove: all, one, or some. Left out: what the preset says.
    dark_rate
        Least and most ratio of lit to shaded light, as in `--dark-rate 3 8`. Left out: what the preset says.
    device
        Where to compute: cpu or cuda.
    """
    from deshadow.extras import require

    require("train", "torch")
    from deshadow.data.command import synth_to_disk

    new = synth_to_disk(out, count, backgrounds, occluders, seed, size, preset, targets, dark_rate, device)
    print(f"{out}: {count} triplets, {new} of them new")  # noqa: T201
