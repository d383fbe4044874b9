"""`python -m deshadow.training`, also under torchrun: the same as `deshadow train`, with torch alone."""

import sys
from collections.abc import Sequence
from pathlib import Path

from deshadow.training.endings import run_and_exit
from deshadow.training.loop import train
from deshadow.training.options import parse


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train, and give the folder of the run; what a user can cause ends in one line and exit code 2."""

    def command() -> Path:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        train(options)
        return options.out

    return run_and_exit(command)


if __name__ == "__main__":
    main()
