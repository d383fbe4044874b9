"""A digest of the code that makes a result, so that a table can tell whether its rows can be compared."""

import hashlib
from functools import cache
from pathlib import Path

PACKAGES = ("nn", "diffusion", "image", "metrics", "data", "training")
DRAWING = {"training/curves.py", "training/samples.py", "training/collapse.py"}
DRAWING |= {"training/rows.py", "training/tables.py", "training/markdown.py"}
"""They draw and list results, and change none. What a row changes is recorded with it, in its options."""


@cache
def digest_code(root: Path = Path(__file__).parents[1]) -> dict[str, str]:
    """The packages that make and score a model, each with a digest of its source files."""
    return {package: digest_package(root, package) for package in PACKAGES}


def digest_package(root: Path, package: str) -> str:
    """12 hexadecimal digits from the names and the contents of a package's files, line endings aside."""
    files = {path.relative_to(root).as_posix(): path for path in (root / package).rglob("*.py")}
    total = hashlib.sha256()
    for name in sorted(files.keys() - DRAWING):
        total.update(f"{name}\n".encode())
        total.update(hashlib.sha256(files[name].read_bytes().replace(b"\r\n", b"\n")).digest())
    return total.hexdigest()[:12]
