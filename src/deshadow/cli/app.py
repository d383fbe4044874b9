"""The command line: its commands in two groups, and the exit codes. Each command has a module of its own."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from cyclopts import App, CycloptsError, Group, UnusedCliTokensError

from deshadow import __version__
from deshadow.cli.ablate import ablate
from deshadow.cli.batch import batch
from deshadow.cli.collapse import collapse
from deshadow.cli.compress import compress
from deshadow.cli.curves import curves
from deshadow.cli.data import data
from deshadow.cli.detect import detect
from deshadow.cli.distill import distill
from deshadow.cli.doctor import doctor
from deshadow.cli.evaluate import evaluate
from deshadow.cli.example import example
from deshadow.cli.export import export
from deshadow.cli.latent import latent
from deshadow.cli.models import models
from deshadow.cli.remove import remove
from deshadow.cli.serve import serve
from deshadow.cli.synth import synth
from deshadow.cli.tables import tables
from deshadow.cli.train import train
from deshadow.system import streams

# Each command imports what it needs when it runs, so that `--help` answers at once.
app = App(
    name="deshadow",
    version=__version__,
    version_flags=["--version"],
    help="Remove the shadows of photos: all of them, or those that you point at.\n\n"
    "deshadow photo.jpg writes photo.deshadowed.jpg beside the photo, with the same format, bit depth, "
    "colour profile and metadata. Away from the shadow the pixels stay as they are; a JPEG is compressed "
    "again.",
    help_format="plaintext",  # markdown would take longer to load than all the rest of the help
    suppress_keyboard_interrupt=False,  # a line says so
)
_PHOTOS = Group("Commands for photos", sort_key=-2)
_RESEARCH = Group("Research", sort_key=-1)
_OTHER = Group("Other", sort_key=5)
_Command = Callable[..., None]
_FOR_PHOTOS: Sequence[_Command] = (example, batch, detect, serve, doctor)
_FOR_RESEARCH: Sequence[_Command] = (
    *(synth, train, curves, ablate, distill, tables),
    *(latent, collapse, evaluate, models, compress, export),
)
_FORWARDING: Sequence[_Command] = (train, ablate, distill)
"""They parse all their words themselves, --help included."""

app.default(remove)
for place, command in enumerate(_FOR_PHOTOS):
    app.command(command, group=_PHOTOS, sort_key=place)
data.group, data.sort_key = _RESEARCH, 0
app.command(data)
for place, command in enumerate(_FOR_RESEARCH, start=1):
    flags: dict[str, Any] = {"help_flags": [], "version_flags": []} if command in _FORWARDING else {}
    app.command(command, group=_RESEARCH, sort_key=place, **flags)
for flag in ("--help", "--version"):
    app[flag].group = _OTHER


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; an error that the user can correct is one line on stderr and exit code 2."""
    streams.prepare()
    try:
        if "" in (sys.argv[1:] if arguments is None else arguments):
            raise ValueError("an argument is empty: is a variable of the shell not set?")
        try:
            app(arguments, exit_on_error=False, print_error=False)
        finally:
            streams.finish()
    except BrokenPipeError:  # the program that read the output has ended
        sys.exit(1)
    except UnusedCliTokensError as error:
        fail(f"too many arguments: {' '.join(error.unused_tokens or [])}")
    except (CycloptsError, ValueError, OSError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("stopped", 130)


def fail(message: str, code: int = 2) -> None:
    """Print one line on stderr and exit."""
    print(f"deshadow: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
