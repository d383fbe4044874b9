"""`deshadow data`: commands for data sets. Heavy modules load when they run."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from deshadow.cli.parameters import Folder, Split
from deshadow.data.pairs.layouts import Layout

data = App(name="data", help="Look at data sets, and prepare them.")

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
        Parameter(help="Layout of the folder. Recognised by its folders, unless given."),
    ] = None,
    count: Annotated[
        int, Parameter(help="Number of triplets on the sheet, evenly spaced over the set.")
    ] = 24,
    dark_rate: Annotated[
        Path | None,
        Parameter(help="Plot a histogram of how dark the shadows are to this file: .png, .svg or .pdf."),
    ] = None,
    skip_problems: SkipProblems = False,
) -> None:
    """Draw a contact sheet of a data set and print its statistics."""
    from rich.console import Console

    from deshadow.data import look as looking

    found = looking.look(folder, output, split, layout, count, dark_rate, skip_problems)
    console = Console(soft_wrap=True)
    console.print(looking.make_table(found), highlight=False)
    for problem in found.problems:
        console.print(f"problem: {problem}", highlight=False, markup=False)


@data.command
def adjust(
    folder: Folder,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o", help="The new folder, which gets the layout of AISTD.")],
    split: Split = None,
    skip_problems: SkipProblems = False,
) -> None:
    """Make AISTD from ISTD: match the colours of shadow-free pictures to those of their shadow pictures."""
    from rich.console import Console

    from deshadow.data.pairs.aistd import adjust_folder

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


@data.command
def prepare(
    folder: Annotated[
        Path, Parameter(help="Folder of the original SRD, or of its training part: shadow and shadow_free.")
    ],
    /,
    *,
    output: Annotated[
        Path,
        Parameter(
            alias="-o", help="The new folder, which gets pairs.csv and the shards that training reads."
        ),
    ],
    skip_problems: SkipProblems = False,
) -> None:
    """Make our set from the original SRD: hold out scenes, downscale to 512, derive masks, write shards."""
    from rich.console import Console

    from deshadow.data.pairs.prepare import list_validation_scenes, prepare_srd

    found = prepare_srd(folder, output, skip_problems)
    console = Console(soft_wrap=True)
    for split in sorted(found.pairs):
        line = f"{split}: {found.pairs[split]:,} pairs of {found.scenes[split]:,} scenes"
        console.print(line, highlight=False, markup=False)
    for problem in found.left_out:
        console.print(f"left out: {problem}", highlight=False, markup=False)
    if found.missing:
        count = sum(map(len, list_validation_scenes()))
        line = f"missing of the {count} validation pictures: {', '.join(found.missing)}"
        console.print(line, highlight=False, markup=False)
    console.print(str(output), highlight=False, markup=False)
