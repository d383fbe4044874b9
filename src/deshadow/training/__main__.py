"""`python -m deshadow.training`, also under torchrun: the same as `deshadow train`, with torch alone."""

import sys
from collections.abc import Sequence
from pathlib import Path

from deshadow.training.loop import Interrupted, train
from deshadow.training.options import parse


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train, and give the folder of the run; what a user can cause ends in one line and exit code 2."""
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        train(options)
        return options.out
    except (ValueError, OSError) as error:
        sys.exit(_line(str(error)))
    except Interrupted as interrupted:
        sys.exit(130 if str(interrupted) == "SIGINT" else 143)


def _line(message: str) -> int:
    sys.stderr.write(f"deshadow: {' '.join(message.split())}\n")
    return 2


if __name__ == "__main__":
    main()
