"""`deshadow models`: lists the presets with their size and cost."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from rich.table import Table


def models(
    *,
    size: Annotated[int, Parameter(help="Side of the square picture for which GFLOP are counted.")] = 256,
) -> None:
    """List the presets with their number of parameters and their GFLOP."""
    from rich.console import Console

    Console().print(models_table(size))


def models_table(size: int = 256) -> "Table":
    """A table of the presets: parameters, and GFLOP of one pass on a picture of size × size pixels."""
    from rich.table import Table

    from deshadow.nn.config import DETECTORS, PRESETS
    from deshadow.nn.layout import Cost, detector_cost, model_cost

    if size < 1:
        raise ValueError(f"--size {size} is too small: give 1 or more")
    title = f"Presets: parameters in millions, GFLOP of one pass at {size}×{size}"
    table = Table(title=title, pad_edge=False, collapse_padding=True)  # narrow enough for 80 columns
    table.add_column("preset", style="bold")
    for heading in ("denoiser", "fusion", "encoder", "all", "GFLOP", "fold"):
        table.add_column(heading, justify="right")
    table.add_column("predicts")
    for name, config in PRESETS.items():
        side = -(-size // config.stride) * config.stride  # as the backends pad it
        cost = model_cost(config, side, side)
        total = sum(cost.values(), Cost())
        table.add_row(
            name,
            *(f"{cost[part].parameters / 1e6:.2f}" for part in ("denoiser", "fusion", "encoder")),
            f"{total.parameters / 1e6:.2f}",
            f"{total.flop / 1e9:.1f}",
            str(config.denoiser.fold),
            config.predicts,
        )
    for name, detector in DETECTORS.items():
        side = -(-size // detector.stride) * detector.stride
        whole = detector_cost(detector, side, side)
        millions = f"{whole.parameters / 1e6:.2f}"
        table.add_row(name, "", "", "", millions, f"{whole.flop / 1e9:.1f}", "", "shadow")
    return table
