"""`deshadow curves`: the curves of a training run. It imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def curves(
    run: Annotated[Path, Parameter(help="The folder of a training run, finished or not.")],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(alias="-o", help="The picture to write. By default RUN/curves.png.")
    ] = None,
) -> None:
    """Draw the curves of a training run from its log."""
    from deshadow.system.extras import require

    require("train", "matplotlib")
    from deshadow.training.curves import draw_curves

    print(draw_curves(run, output))  # noqa: T201
