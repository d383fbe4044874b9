"""The command line: parses, calls, prints. What a command does lives in the module that it calls."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from deshadow import __version__, streams
from deshadow.commands import detect, doctor, remove
from deshadow.data.cli import data, synth
from deshadow.evaluation.cli import evaluate
from deshadow.serve.cli import serve
from deshadow.training.cli import ablate, collapse, curves, distill, train

# Each command imports what it needs when it runs, so that `--help` answers at once.
app = App(
    name="deshadow",
    help="Remove shadows from photographs.",
    version=__version__,
    version_flags=["--version"],
    help_format="markdown",
)


app.default(remove)
app.command(detect)
app.command(doctor)
app.command(serve)


@app.command
def models(
    *,
    size: Annotated[int, Parameter(help="Side of the picture that GFLOP are counted for.")] = 256,
) -> None:
    """List the presets, with what each costs."""
    from rich.console import Console

    from deshadow.report import models_table

    Console().print(models_table(size))


@app.command
def export(
    checkpoint: Annotated[str, Parameter(help="A .safetensors file, or the name of shipped weights.")], /
) -> None:
    """Write the ONNX graphs of a checkpoint beside it, so that it runs without torch."""
    from deshadow.extras import require

    require("export", "torch", "onnx", "onnxscript")
    from deshadow.export import export as write_graphs

    for graph in write_graphs(checkpoint):
        print(graph)  # noqa: T201


@app.command
def compress(
    checkpoint: Annotated[str, Parameter(help="A .safetensors file, or the name of shipped weights.")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The file to write.")],
) -> None:
    """Write a checkpoint anew with weights of 8 bits, at half the size of half precision."""
    from deshadow.checkpoint import compress as write_compressed

    written = write_compressed(checkpoint, output)
    print(f"{written}: {written.stat().st_size / 2**20:.1f} MiB")  # noqa: T201


for forwarding in (train, ablate, distill):
    app.command(forwarding, help_flags=[], version_flags=[])
for command in (collapse, curves, data, synth, evaluate):
    app.command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; what a user can cause ends in one line on stderr and exit code 2."""
    streams.prepare()
    try:
        try:
            app(arguments, exit_on_error=False, print_error=False)
        finally:
            streams.finish()
    except BrokenPipeError:  # who read what is printed has gone
        sys.exit(1)
    except (CycloptsError, ValueError, OSError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def fail(message: str) -> None:
    """End with one line on stderr and exit code 2."""
    print(f"deshadow: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
