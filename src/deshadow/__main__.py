"""`deshadow`, and `python -m deshadow`: loads the command line, which Ctrl-C may break off as well."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from deshadow.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
