"""`deshadow models`: the presets, with what each costs."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from rich.table import Table


def models(
    *,
    size: Annotated[int, Parameter(help="Side of the picture that GFLOP are counted for.")] = 256,
) -> None:
    """List the presets, with what each costs."""
    from rich.console import Console

    Console().print(models_table(size))


def models_table(size: int = 256) -> "Table":
    """The presets with their parameters, and the GFLOP of one pass on a picture of size × size."""
    from rich.table import Table

    from deshadow.nn.config import DETECTORS, PRESETS
    from deshadow.nn.layout import Cost, detector_cost, model_cost

    if size < 1:
        raise ValueError(f"a picture of size {size} has no pixels: give a size of 1 or more")
    table = Table(
        title=f"Presets: parameters in millions, GFLOP of one pass at {size}×{size}", pad_edge=False
    )
    table.add_column("preset", style="bold")
    for heading in ("denoiser", "fusion", "guide", "all", "GFLOP", "fold"):
        table.add_column(heading, justify="right")
    table.add_column("predicts")
    for name, config in PRESETS.items():
        side = -(-size // config.stride) * config.stride  # as the backends pad it
        cost = model_cost(config, side, side)
        total = sum(cost.values(), Cost())
        table.add_row(
            name,
            *(f"{cost[part].parameters / 1e6:.2f}" for part in ("denoiser", "fusion", "guide")),
            f"{total.parameters / 1e6:.2f}",
            f"{total.flop / 1e9:.1f}",
            str(config.denoiser.fold),
            config.predicts,
        )
    for name, detector in DETECTORS.items():
        side = -(-size // detector.stride) * detector.stride
        whole = detector_cost(detector, side, side)
        millions = f"{whole.parameters / 1e6:.2f}"
        table.add_row(
            name, "", "", "", millions, f"{whole.flop / 1e9:.1f}", str(detector.unet.fold), "shadow"
        )
    return table
