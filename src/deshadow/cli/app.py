"""The command line: parses, calls, prints. What a command does lives in the module that it calls."""

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from deshadow import __version__
from deshadow.cli.ablate import ablate
from deshadow.cli.collapse import collapse
from deshadow.cli.compress import compress
from deshadow.cli.curves import curves
from deshadow.cli.data import data
from deshadow.cli.detect import detect
from deshadow.cli.distill import distill
from deshadow.cli.doctor import doctor
from deshadow.cli.evaluate import evaluate
from deshadow.cli.export import export
from deshadow.cli.models import models
from deshadow.cli.remove import remove
from deshadow.cli.serve import serve
from deshadow.cli.synth import synth
from deshadow.cli.train import train
from deshadow.system import streams

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
app.command(models)
app.command(export)
app.command(compress)
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
