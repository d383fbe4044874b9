"""The commands of training. They import what they need when they run, so that `--help` answers at once."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

# The options of training are a dataclass that also serves where this command line is not installed.
Forwarded = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


def train(*options: Forwarded) -> None:
    """Train a model; `deshadow train --help` lists the options."""
    from deshadow.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.__main__ import main as start
    from deshadow.training.curves import draw_curves

    folder = start(options)
    print(draw_curves(folder))  # noqa: T201


def ablate(*options: Forwarded) -> None:
    """Train and score the rows of the paper's ablations; `deshadow ablate --help` lists the options."""
    from deshadow.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.ablate import main as start

    tables = start(options)
    print(tables.read_text(encoding="utf-8"))  # noqa: T201
    print(tables)  # noqa: T201


def distill(*options: Forwarded) -> None:
    """Train a student from a teacher; `deshadow distill --help` lists the options."""
    from deshadow.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.curves import draw_curves
    from deshadow.training.distill import TABLE
    from deshadow.training.distill import main as start

    folder = start(options)
    if (folder / TABLE).exists():  # not yet, where it was paused
        print((folder / TABLE).read_text(encoding="utf-8"))  # noqa: T201
    print(draw_curves(folder))  # noqa: T201


def collapse(
    without: Annotated[str, Parameter(help="Weights of a model without fusion, a path or a name.")],
    fused: Annotated[str, Parameter(name="with", help="Weights of the same with it.")],
    folder: Annotated[Path, Parameter(help="The folder of the data set.")],
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o", help="The picture: .png, .svg or .pdf; JSON beside it.")],
    names: Annotated[tuple[str, str], Parameter(negative=(), help="What to call the two models.")] = (
        "without fusion",
        "dense fusion",
    ),
    split: Annotated[str | None, Parameter(help="By default val, or test, or all.")] = None,
    count: Annotated[int, Parameter(help="Pictures, from all over the set.")] = 32,
    size: Annotated[int, Parameter(help="Side that they are brought to.")] = 256,
    steps: Annotated[int, Parameter(help="Steps from noise to picture, each of them a point.")] = 10,
    seed: Annotated[int, Parameter(help="Of the noise.")] = 0,
    device: Annotated[str, Parameter(help="auto, cpu, or a device of torch: cuda, mps.")] = "auto",
) -> None:
    """Draw whether two models heed y_t: its mean against that of the predicted y_{t-1} (Fig. 6)."""
    from deshadow.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.collapse import collapse_to_files

    for path in collapse_to_files(
        dict(zip(names, (without, fused), strict=True)),
        folder,
        output,
        split=split,
        count=count,
        size=size,
        steps=steps,
        seed=seed,
        device=device,
    ):
        print(path)  # noqa: T201


def curves(
    run: Annotated[Path, Parameter(help="The folder of a training run, under way or done.")],
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o", help="The picture, if not RUN/curves.png.")] = None,
) -> None:
    """Draw the curves of a training run from its log."""
    from deshadow.extras import require

    require("train", "matplotlib")
    from deshadow.training.curves import draw_curves

    print(draw_curves(run, output))  # noqa: T201
