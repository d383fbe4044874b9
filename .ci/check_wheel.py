"""Checks that a wheel holds the package and nothing else: python .ci/check_wheel.py WHEEL SOURCE"""

import sys
import zipfile
from pathlib import Path

MOST = 26 * 2**20


def main(wheel: str, source: str) -> None:
    """End with a sentence and exit code 1 if a file is missing or too much, or if the wheel is too large."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    packed = {name for name in names if ".dist-info/" not in name}
    folder = Path(source)
    expected = {
        f"{folder.name}/{path.relative_to(folder).as_posix()}"
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    if missing := sorted(expected - packed):
        sys.exit(f"{wheel} lacks {', '.join(missing[:5])}")
    if surplus := sorted(packed - expected):
        sys.exit(f"{wheel} has {', '.join(surplus[:5])}, which are not in {source}")
    if not any(name.endswith(".dist-info/entry_points.txt") for name in names):
        sys.exit(f"{wheel} has no command")
    if Path(wheel).stat().st_size > MOST:
        sys.exit(f"{wheel} has {Path(wheel).stat().st_size / 2**20:.1f} MiB: 26 MiB at most")


if __name__ == "__main__":
    main(*sys.argv[1:])
