"""What each sensitivity leaves out: of true shadows, of dark things, and of pictures that have no shadow.

python benchmarks/certainty.py SRD DETECTION FACES BACKGROUNDS takes the folder of SRD, and tars or folders of
photos with masks, of portraits and of backgrounds. It uses those that no network was trained on: the pairs of
SRD for validation, the photos and portraits that are held out, and every tenth background, from number
--first on. --documents is a folder of pairs that are documents, all of which are used. --detector names
another detector. With --side it sees each photo at this size alone, instead of at two.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.find import find
from deshadow.data.photos import split_names
from deshadow.data.synth.banks import decode_picture, picture_files
from deshadow.image.masks import scale_mask
from deshadow.removal import detect
from deshadow.removal.certainty import CORE, LEAST, THRESHOLD, measure_certainty
from deshadow.removal.masks import label_shadows
from deshadow.removal.remover import Remover

WAYS = ("nothing left out", "high", "normal", "low")
"""The first is normal without the judgement."""
_MASKED, _PORTRAITS = 60, 16
"""Photos and portraits that are held out."""


class Scene(NamedTuple):
    """A picture (H, W, 3), and where (H, W) it lies in shadow."""

    pixels: NDArray[np.uint8]
    shadow: NDArray[np.bool_]


class Counts(NamedTuple):
    """Pixels of one picture: in the true shadow, in the light, and those of both that would be removed."""

    shadow: int
    lit: int
    right: int
    wrong: int


def read_pairs(folder: Path, split: str | None = "val") -> Iterator[Scene]:
    for sample in find(folder, split).samples:
        triplet = sample.load()
        yield Scene(triplet.picture, triplet.mask > 0)


def read_clean_sides(folder: Path) -> Iterator[Scene]:
    """Each once: several shadow pictures share one."""
    for sample in {sample.clean_file: sample for sample in find(folder, "val").samples}.values():
        yield clean(sample.load().clean)


def read_masked(source: Path) -> Iterator[Scene]:
    files = dict(picture_files(source))
    kinds = {
        kind: {PurePosixPath(name).stem: name for name in files if PurePosixPath(name).parent.name == kind}
        for kind in ("shadow", "mask")
    }
    for stem in split_names(list(kinds["shadow"]), _MASKED)[1]:
        picture, mask = (
            decode_picture(source, kinds[kind][stem], files[kinds[kind][stem]]) for kind in kinds
        )
        yield Scene(np.asarray(picture.convert("RGB")), scale_mask(np.asarray(mask.convert("L"))) > 0.5)


def read_portraits(source: Path) -> Iterator[Scene]:
    files = dict(picture_files(source))
    for name in split_names(list(files), _PORTRAITS)[1]:
        yield clean(np.asarray(decode_picture(source, name, files[name]).convert("RGB")))


def read_backgrounds(source: Path, first: int) -> Iterator[Scene]:
    for name, data in list(picture_files(source))[first::10]:
        yield clean(np.asarray(decode_picture(source, name, data).convert("RGB")))


def clean(pixels: NDArray[np.uint8]) -> Scene:
    return Scene(pixels, np.zeros(pixels.shape[:2], np.bool_))


def count(remover: Remover, scene: Scene) -> dict[str, Counts]:
    """What each way would remove from a picture."""
    pixels = scene.pixels.astype(np.float32) / np.float32(255)
    probability = remover.detect(pixels)
    counts = {}
    for core in sorted(set(CORE.values())):
        labels = label_shadows(probability, THRESHOLD, core)
        certainty = np.append(0, measure_certainty(remover.detector, pixels, labels) if labels.any() else [])
        for way in WAYS:
            sensitivity = "normal" if way == WAYS[0] else way
            if CORE[sensitivity] == core:  # type: ignore[index]
                least = 0 if way == WAYS[0] else LEAST[sensitivity]  # type: ignore[index]
                taken = (labels > 0) & (certainty >= least)[labels]
                numbers = scene.shadow, ~scene.shadow, taken & scene.shadow, taken & ~scene.shadow
                counts[way] = Counts(*(int(each.sum()) for each in numbers))
    return counts


def balanced_error(counts: Counts) -> float:
    return (1 - counts.right / counts.shadow + counts.wrong / counts.lit) / 2


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("srd", "detection", "faces", "backgrounds"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--detector", default="detector")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--side", type=int)
    chosen = parser.parse_args()
    if chosen.side:
        detect.DETECTOR_SIDE = detect.COARSE_SIDE = chosen.side
    remover = Remover(detector=chosen.detector)
    shaded = {"SRD": read_pairs(chosen.srd), "photos": read_masked(chosen.detection)}
    if chosen.documents:
        shaded["documents"] = read_pairs(chosen.documents, None)
    unshaded = {
        "clean sides": read_clean_sides(chosen.srd),
        "portraits": read_portraits(chosen.faces),
        "backgrounds": read_backgrounds(chosen.backgrounds, chosen.first),
    }
    print(f"{'':24}" + "".join(f"{way:>18}" for way in WAYS))
    for name, scenes in (shaded | unshaded).items():
        counted = [count(remover, scene) for scene in scenes]
        totals = [Counts(*np.sum([each[way] for each in counted], axis=0)) for way in WAYS]
        print(f"{name}, {len(counted)} pictures")
        if name in unshaded:
            unchanged = (float(np.mean([not each[way].wrong for each in counted])) for way in WAYS)
            print_row("pictures unchanged", unchanged)
        else:
            print_row("of the shadows found", (each.right / totals[0].right for each in totals))
            print_row("of all true shadow", (each.right / each.shadow for each in totals))
            print_row("IoU", (each.right / (each.shadow + each.wrong) for each in totals))
            print_row("balanced error", (balanced_error(each) for each in totals))
        print_row("of what is lit", (each.wrong / each.lit for each in totals))


def print_row(title: str, shares: Iterator[float]) -> None:
    print(f"  {title:22}" + "".join(f"{f'{100 * share:.1f} %':>18}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
