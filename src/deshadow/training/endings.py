"""How a command of training ends: with what it made, or with one line and an exit code."""

import sys
from collections.abc import Callable
from typing import TypeVar

from deshadow.training.loop import Interrupted

Made = TypeVar("Made")


def run_and_exit(command: Callable[[], Made]) -> Made:
    """Run a command; what a user can cause ends in one line and code 2, a signal in its own code."""
    try:
        return command()
    except (ValueError, OSError) as error:
        sys.stderr.write(f"deshadow: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except Interrupted as interrupted:
        sys.exit(130 if str(interrupted) == "SIGINT" else 143)
    except KeyboardInterrupt:
        sys.exit(130)
