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
