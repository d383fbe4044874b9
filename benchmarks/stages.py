"""Where the time of `deshadow PHOTO` goes, stage by stage: the best of several runs.

python benchmarks/stages.py [--repeat 5]

The photos are those of benchmarks/remove.py. The stages run one after another here; in the command the
remover is opened beside reading and detection.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from remove import Case

from deshadow.diffusion.sampling import sample
from deshadow.photo import encode_photo, read_photo
from deshadow.removal import reach
from deshadow.removal.balance import balance_colour
from deshadow.removal.certainty import CORE, THRESHOLD, find_unsure
from deshadow.removal.detect import detect_shadows
from deshadow.removal.masks import label_shadows
from deshadow.removal.modes import make_network_input
from deshadow.removal.options import RemovalOptions
from deshadow.removal.outcomes import find_changed, measure_compression_loss
from deshadow.removal.relighting import Relighting, downscale
from deshadow.removal.remover import Remover
from deshadow.removal.selection import select
from deshadow.runtime.backend import condition

Result = TypeVar("Result")


class Stages:
    """The shortest time of each stage, by its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], Result]) -> Result:
        start = time.perf_counter()
        result = work()
        self.seconds[name] = min(time.perf_counter() - start, self.seconds.get(name, np.inf))
        return result


def run_once(stages: Stages, path: Path) -> None:
    """Remove the shadows of a photo as Quick does, with a clock around each stage."""
    options, imports = RemovalOptions(), "import deshadow.cli.app, deshadow.removal.process, rich.console"
    command = [sys.executable, "-c", imports]
    stages.time("start: Python and imports", lambda: subprocess.run(command, check=True))
    photo = stages.time("reading the file", lambda: read_photo(path))
    remover = Remover()
    backend = stages.time("opening the remover", lambda: remover.backend)
    detector = stages.time("opening the detector", lambda: remover.detector)
    picture = photo.picture
    found = stages.time(
        "detection: two passes, four for a large photo", lambda: detect_shadows(detector, picture)
    )
    labels = stages.time(
        "telling shadows apart", lambda: label_shadows(found, THRESHOLD, CORE[options.sensitivity])
    )
    unsure = stages.time(
        "certainty check", lambda: find_unsure(detector, picture, labels, options.sensitivity)
    )
    selection = select(labels, unsure=unsure)
    weight = stages.time("weight", lambda: reach.weigh(selection, options.dilate, options.feather))
    shadow, seen, mask = stages.time(
        "network's input", lambda: make_network_input(picture, selection, options.dilate)
    )
    denoise = stages.time("encoder", lambda: condition(backend, seen, mask))
    noise = np.random.default_rng(0).standard_normal(seen.shape).astype(np.float32)
    schedule = backend.config.schedule
    clean = stages.time(
        "denoiser", lambda: sample(denoise, noise, schedule, steps=options.steps, sampler=options.sampler)
    )
    after = ((clean[0].transpose(1, 2, 0) + 1) / 2).clip(0, 1)
    size = shadow.shape[:2]
    light = stages.time(
        "fit of the light", lambda: Relighting.fit(shadow, after, downscale(weight, *size), picture)
    )
    inside = reach.make_network_mask(selection, 0, *size)
    balanced = stages.time("balance of the colour", lambda: balance_colour(light, shadow, inside, None))
    relit = balanced.apply(picture, weight)
    result = stages.time("relighting and blending", lambda: photo.composite(relit, weight))
    encoded = stages.time("encoding the file", lambda: encode_photo(result))
    changed = stages.time("finding what changed", lambda: find_changed(photo, result))
    stages.time(
        "measuring the compression", lambda: measure_compression_loss(photo, changed, encoded, photo.format)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    table: dict[str, dict[str, float]] = {}
    for case in (Case("480×640", 480, 640), Case("12 megapixels", 3000, 4000)):
        stages = Stages()
        with tempfile.TemporaryDirectory() as folder:
            case.draw(Path(folder))
            for _ in range(given.repeat):
                run_once(stages, Path(folder, "photos/0.jpg"))
        table[case.name] = stages.seconds
    print(f"| stage, seconds | {' | '.join(table)} |\n|---|{'---|' * len(table)}")
    for name in next(iter(table.values())):
        print(f"| {name} | {' | '.join(f'{seconds[name]:.3f}' for seconds in table.values())} |")


if __name__ == "__main__":
    main()
