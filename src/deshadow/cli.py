"""The command line: parses, calls, prints. What a command does lives in the module that it calls."""

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from deshadow import __version__

# Each command imports what it needs when it runs, so that `--help` answers at once.
app = App(
    name="deshadow",
    help="Remove shadows from photographs.",
    version=__version__,
    version_flags=["--version"],
    help_format="markdown",
)


@app.command
def models(*, size: int = 256) -> None:
    """List the presets, with what each costs.

    Parameters
    ----------
    size
        Side of the picture for which GFLOP are counted, in pixels.
    """
    from rich.console import Console

    from deshadow.report import models_table

    Console().print(models_table(size))


@app.command
def export(checkpoint: str) -> None:
    """Write the ONNX graphs of a checkpoint beside it, so that it runs without torch.

    Parameters
    ----------
    checkpoint
        A .safetensors file, or the name of shipped weights.
    """
    from deshadow.extras import require

    require("export", "torch", "onnx", "onnxscript")
    from deshadow.export import export as write_graphs

    for graph in write_graphs(checkpoint):
        print(graph)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; what a user can cause ends in one line on stderr and exit code 2."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except (CycloptsError, ValueError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def fail(message: str) -> None:
    """End with one line on stderr and exit code 2."""
    print(f"deshadow: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
