"""Entry point of `deshadow` and `python -m deshadow`."""

import os
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with exit code 130, also while modules are loaded."""
    try:
        from deshadow.cli.app import main as run
        from deshadow.cli.remove import OPEN

        try:
            run()
        except SystemExit as end:
            if OPEN and not end.code:
                # The operating system frees the networks faster than Python does, which takes over 0.1 s.
                sys.stderr.flush()
                os._exit(0)
            raise
    except KeyboardInterrupt:
        print("deshadow: stopped", file=sys.stderr)  # noqa: T201
        sys.exit(130)


if __name__ == "__main__":
    main()
