"""Methods of removing shadows as an evaluation sees them: functions from an input to a result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.pictures import PictureFile, is_picture, read_picture
from deshadow.data.pairs.sample import Sample, Triplet
from deshadow.evaluation import baselines
from deshadow.image.resize import PROTOCOL_SIDE, nearest
from deshadow.removal.selection import Selection

Pixels = NDArray[np.uint8]

BATCH = 16
"""Most pictures that go through a network at once."""


class Input(NamedTuple):
    """What a method is given of one picture."""

    picture: Pixels
    """(H, W, 3)"""
    selection: Selection
    """The shadows to remove, and those that must stay where the set marks them; both (H, W)."""
    name: str
    """SPLIT/NAME of the picture."""

    @property
    def mask(self) -> Pixels:
        """(H, W): 255 in the shadows to remove, 0 elsewhere."""
        return np.where(self.selection.mask > 0.5, np.uint8(255), np.uint8(0))


Remove = Callable[[Input], Pixels]
"""The picture without the selected shadows, (h, w, 3) of any size."""
RemoveBatch = Callable[[Sequence[Input]], Sequence[Pixels]]
Prepare = Callable[[Sequence[Sample], Callable[[Sample], Input]], None]
"""Called once before the first picture, with the samples of the set and a function that loads an input."""
MaskSource = Callable[[Pixels, Pixels], Pixels]
"""(H, W, 3) picture, (256, 256) true mask → (h, w) mask, of any size, that a method is given instead."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of removing shadows."""

    name: str
    remove: Remove
    parameters: int | None = None
    note: str = ""
    """What it is, in a few words."""
    timed: bool = True
    """Whether its time means anything: not so for results that were made elsewhere."""
    every_core: bool = False
    """Whether it keeps every core busy by itself, so that reading and scoring beside it would slow it."""
    prepare: Prepare | None = None
    """What it must know of the whole set."""
    remove_batch: RemoveBatch | None = None
    """`remove` for up to `BATCH` inputs at once, where that is faster."""


# Named as on the command line.
BASELINES: Mapping[str, tuple[Callable[[Pixels, Pixels], Pixels], str]] = {
    "input": (baselines.copy_input, "the picture as it came"),
    "gain": (baselines.apply_region_gain, "region gain with a feathered edge"),
    "lab": (baselines.transfer_statistics, "LAB statistics transfer"),
}


def make_input(sample: Sample, triplet: Triplet) -> Input:
    """What a method is given of a sample that was loaded."""
    others = sample.others
    # A pixel that lies in two shadows belongs to the one that is removed.
    protected = None if others is None else others & (triplet.mask == 0)
    selection = Selection(triplet.mask.astype(np.float32) / np.float32(255), protected)
    return Input(triplet.picture, selection, name_of(sample))


def name_of(sample: Sample) -> str:
    """SPLIT/NAME: unique within a set, so that the noise of a picture can follow from it."""
    return f"{sample.split}/{sample.name}"


def load_input(sample: Sample) -> Input:
    """What a method is given of a sample; ValueError if a file cannot be read."""
    return make_input(sample, sample.load())


def make_baseline(name: str) -> Method:
    """One of the methods without learning."""
    remove, note = BASELINES[name]
    return Method(name, lambda given: remove(given.picture, given.mask), 0, note)


def make_results_method(name: str, folder: Path) -> Method:
    """The pictures of a folder as results, found by name, whatever their format and size."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder: --results takes the folder of the pictures to score")
    files = {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*"))
        if is_picture(path)
    }

    def remove(given: Input) -> Pixels:
        # A picture of the split test is found as test/NAME, or as NAME.
        own = given.name.partition("/")[2]
        path = files.get(given.name) or files.get(own)
        if path is None:
            raise ValueError(f"{folder} has no result named {own}")
        return read_picture(PictureFile(path))

    return Method(name, remove, note="made elsewhere", timed=False)


def replace_masks(method: Method, source: MaskSource, note: str) -> Method:
    """A method that is given other masks than the true ones; it is still scored in the true regions.

    What the true masks protect stays protected.
    """

    def change(given: Input) -> Input:
        true, protected = given.mask, given.selection.protected
        small = source(given.picture, nearest(true, PROTOCOL_SIDE, PROTOCOL_SIDE))
        mask = nearest(small, *true.shape).astype(np.float32) / np.float32(255)
        if protected is not None:
            mask[protected] = 0
        return given._replace(selection=Selection(mask, protected))

    def prepare(samples: Sequence[Sample], load: Callable[[Sample], Input]) -> None:
        if method.prepare is not None:
            method.prepare(samples, lambda sample: change(load(sample)))

    together = method.remove_batch
    return replace(
        method,
        remove=lambda given: method.remove(change(given)),
        remove_batch=None if together is None else lambda inputs: together([change(each) for each in inputs]),
        note=f"{method.note}, {note}",
        prepare=prepare,
    )
