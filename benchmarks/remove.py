"""Time and peak memory of whole commands `deshadow PHOTO`: start, reading, detection, removal and writing.

python benchmarks/remove.py [--only WORDS] [--repeat 1] [OPTIONS OF DESHADOW]

JPEG photos with a shadow over 40 % of them, from side to side: each in a process of its own, and ten in one
process. `--only` takes the cases whose name contains the words. The folder of 100 photos, whose peak of
memory should be that of ten, has to be named. Of several runs the fastest is printed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
LEAST_SHADOW = 0.3
"""Share of the photo that the shadow found must cover: removing a small one may cost less."""


@dataclass(frozen=True)
class Case:
    """A command, by the size of its photos."""

    name: str
    height: int
    width: int
    options: tuple[str, ...] = ()
    count: int = 1

    def draw(self, folder: Path) -> None:
        """Draw the photos in another process, whose memory is not counted for those started from here."""
        subprocess.run(
            [sys.executable, __file__, "--draw", str(folder), str(self.height), str(self.width)], check=True
        )
        for index in range(1, self.count):
            (folder / "photos" / f"{index}.jpg").hardlink_to(folder / "photos" / "0.jpg")


CASES = (
    Case("480×640", 480, 640),
    Case("480×640, mask given", 480, 640, ("--mask", "mask.png")),
    Case("480×640, folder of 10", 480, 640, count=10),
    Case("480×640, folder of 100", 480, 640, count=100),
    Case("12 megapixels", 3000, 4000),
    Case("12 megapixels, removal", 3000, 4000, ("--mode", "removal")),
    Case("48 megapixels", 6000, 8000),
)


@dataclass(frozen=True, order=True)
class Cost:
    """What one run of a command took."""

    seconds: float
    processor: float
    peak: float
    """GiB"""


def measure(case: Case, folder: Path, source: Path = SOURCE, options: Sequence[str] = ()) -> Cost:
    """Run a command once with the package in `source`, on the photos that were drawn in `folder`."""
    words = [sys.executable, "-m", "deshadow", "photos", "-o", "results", "--json", "report.json"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as in an installed package, modules are compiled once
    start = time.perf_counter()
    process = subprocess.Popen(
        [*words, *case.options, *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"deshadow failed with {source}"
    for photo in json.loads((folder / "report.json").read_text())["photos"]:
        assert photo["shadow_share"] >= LEAST_SHADOW, f"the shadow found is too small: {photo}"
    return Cost(seconds / case.count, (used.ru_utime + used.ru_stime) / case.count, used.ru_maxrss / 2**20)


def choose(words: str) -> list[Case]:
    """The cases whose name contains the words; without words all but the longest."""
    chosen = [case for case in CASES if words in case.name and (words or case.count < 100)]
    if not chosen:
        sys.exit(f"no case contains {words!r}: choose from {'; '.join(case.name for case in CASES)}")
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--repeat", type=int, default=1)
    given, options = parser.parse_known_args()
    print(f"{'':24} {'seconds a photo':>15} {'processor':>10} {'peak GiB':>9}")
    for case in choose(given.only):
        with tempfile.TemporaryDirectory() as folder:
            case.draw(Path(folder))
            best = min(measure(case, Path(folder), options=options) for _ in range(given.repeat))
        print(f"{case.name:24} {best.seconds:15.2f} {best.processor:10.2f} {best.peak:9.2f}", flush=True)


def draw_here(folder: Path, height: int, width: int) -> None:
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    side = max(2, width // 250)
    blocks = rng.uniform(140, 200, (-(-height // side), -(-width // side), 3)).repeat(side, 0).repeat(side, 1)
    pixels = blocks[:height, :width] + rng.normal(0, 6, (height, width, 3))
    # A wavy band with soft edges: an edge that is straight and sharp to the pixel is none of a shadow.
    wave = np.sin(np.arange(width) * (9 / width)) * (height / 30)
    distance = height / 5 - np.abs(np.arange(height)[:, None] + wave - height / 2)
    shadow = (distance * (100 / height) + 0.5).clip(0, 1)
    pixels *= 1 - 0.6 * shadow[..., None]
    (folder / "photos").mkdir()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / "photos/0.jpg", quality=92)
    Image.fromarray(shadow > 0.5).save(folder / "mask.png")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--draw"]:
        draw_here(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
