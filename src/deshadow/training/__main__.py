"""`python -m deshadow.training`, also under torchrun: `deshadow train` without its command-line library."""

import sys
from collections.abc import Sequence
from pathlib import Path

from deshadow.training.endings import run_and_exit
from deshadow.training.loop import train
from deshadow.training.options import parse_training


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train, and return the folder of the run. An error of the user ends in one line and exit code 2."""

    def command() -> Path:
        options = parse_training(sys.argv[1:] if arguments is None else arguments)
        train(options)
        return options.out

    return run_and_exit(command)


if __name__ == "__main__":
    main()
