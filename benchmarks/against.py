"""Time and peak memory of whole commands, of this tree and of an older revision in turn.

python benchmarks/against.py REVISION [--only WORDS] [--repeat 5] [OPTIONS OF DESHADOW]

The commands are those of benchmarks/remove.py. Both trees run in this environment, one after the other, so
that other load on the machine meets both alike. Of the runs of each the fastest is printed.
"""

import argparse
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

from remove import SOURCE, choose, measure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision")
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--repeat", type=int, default=5)
    given, options = parser.parse_known_args()
    print(f"{'':24} {'seconds a photo':^23} {'peak GiB':^23}")
    print(f"{'':24}" + 2 * f" {given.revision[:9]:>9} {'now':>6} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as temporary:
        older = Path(temporary)
        unpack(given.revision, older)
        for case in choose(given.only):
            with tempfile.TemporaryDirectory() as folder:
                case.draw(Path(folder))
                runs = [
                    [measure(case, Path(folder), source, options) for source in (older / "src", SOURCE)]
                    for _ in range(given.repeat)
                ]
            before, now = (min(costs) for costs in zip(*runs, strict=True))
            print(
                f"{case.name:24} {before.seconds:9.2f} {now.seconds:6.2f} {now.seconds / before.seconds:6.2f}"
                f" {before.peak:9.2f} {now.peak:6.2f} {now.peak / before.peak:6.2f}",
                flush=True,
            )


def unpack(revision: str, folder: Path) -> None:
    """Write the package as it was in a revision to `folder`/src."""
    archive = subprocess.run(
        ["git", "archive", revision, "src"], cwd=SOURCE.parent, check=True, capture_output=True
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")


if __name__ == "__main__":
    main()
