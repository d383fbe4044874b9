"""Entry point of `deshadow` and `python -m deshadow`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with exit code 130, also while modules are loaded."""
    try:
        from deshadow.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print("deshadow: stopped", file=sys.stderr)  # noqa: T201
        sys.exit(130)


if __name__ == "__main__":
    main()
