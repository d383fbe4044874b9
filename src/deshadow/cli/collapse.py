"""`deshadow collapse`: whether two models depend on y_t. It imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def collapse(
    without: Annotated[str, Parameter(help="Weights of a model without fusion, a path or a name.")],
    fused: Annotated[
        str, Parameter(name="with", help="Weights of the same model with fusion, a path or a name.")
    ],
    folder: Annotated[Path, Parameter(help="The folder of the data set.")],
    /,
    *,
    output: Annotated[
        Path,
        Parameter(
            alias="-o", help="The picture to write: .png, .svg or .pdf. The figures go to a .json beside it."
        ),
    ],
    names: Annotated[tuple[str, str], Parameter(negative=(), help="What to call the two models.")] = (
        "without fusion",
        "dense fusion",
    ),
    split: Annotated[
        str | None, Parameter(help="The split to use. By default val, else test, else all pairs.")
    ] = None,
    count: Annotated[int, Parameter(help="Number of pictures, spread evenly over the set.")] = 32,
    size: Annotated[int, Parameter(help="Side in pixels to which the pictures are resized.")] = 256,
    steps: Annotated[
        int, Parameter(help="Sampling steps from noise to picture; each is a point of the diagram.")
    ] = 10,
    seed: Annotated[int, Parameter(help="Seed of the noise.")] = 0,
    device: Annotated[str, Parameter(help="auto, cpu, or a device of torch: cuda, mps.")] = "auto",
) -> None:
    """Plot whether the results of two models depend on y_t (Fig. 6)."""
    from deshadow.system.extras import require

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
