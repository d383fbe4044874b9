"""A detector on a data set: its masks, how well they agree with the true ones."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deshadow.data.pairs.find import Problem, Sample
from deshadow.image.resize import PROTOCOL_SIDE, bicubic, nearest
from deshadow.metrics.detection import Confusion, confusion
from deshadow.metrics.pooling import mean, none_for_nan
from deshadow.nn.layout import detector_cost
from deshadow.removal.remover import Remover
from deshadow.runtime.backend import Detector
from deshadow.system.progress import track

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class PictureDetection:
    """What was detected in one picture, at 256 × 256."""

    name: str
    split: str
    seconds: float
    pixels: Confusion


@dataclass(frozen=True, slots=True)
class DetectorEvaluation:
    """The figures of a detector on a set."""

    parameters: int
    pictures: tuple[PictureDetection, ...]
    problems: tuple[Problem, ...]

    @property
    def pixels(self) -> Confusion:
        """The counts of all pictures together."""
        return sum((each.pixels for each in self.pictures), Confusion())


def detect_mask(detector: Detector, picture: Pixels) -> Pixels:
    """(H, W, 3) → (256, 256): 255 where a pixel of the resized picture is more likely in shadow than not."""
    small = bicubic(picture, PROTOCOL_SIDE, PROTOCOL_SIDE).transpose(2, 0, 1)[None] / np.float32(127.5) - 1
    return np.where(detector(small)[0, 0] > 0.5, np.uint8(255), np.uint8(0))


def select_shadows(remover: Remover, picture: Pixels) -> Pixels:
    """(H, W, 3) → (H, W): 255 in the shadows that `deshadow PHOTO` would remove."""
    selection = remover.select(picture.astype(np.float32) * np.float32(1 / 255))
    return np.where(selection.mask > 0, np.uint8(255), np.uint8(0))


def evaluate_detector(detector: Detector, samples: Sequence[Sample]) -> DetectorEvaluation:
    """Detect the shadows of all samples, one at a time, and compare with their masks."""
    pictures: list[PictureDetection] = []
    problems: list[Problem] = []
    for sample in track(samples, "detector", len(samples)):
        try:
            picture, mask, _ = sample.load()
        except ValueError as error:
            problems.append(Problem(sample.name, str(error)))
            continue
        start = time.perf_counter()
        mask_found = detect_mask(detector, picture)
        seconds = time.perf_counter() - start
        pixels = confusion(mask_found, nearest(mask, PROTOCOL_SIDE, PROTOCOL_SIDE))
        pictures.append(PictureDetection(sample.name, sample.split, seconds, pixels))
    if not pictures:
        raise ValueError(f"no picture could be scored: {problems[0] if problems else 'the set is empty'}")
    parameters = detector_cost(detector.config, PROTOCOL_SIDE, PROTOCOL_SIDE).parameters
    return DetectorEvaluation(parameters, tuple(pictures), tuple(problems))


def summarise(evaluation: DetectorEvaluation) -> dict[str, Any]:
    """The figures of the whole set: rates in percent, overlaps (IoU) from 0 to 1."""
    pixels = evaluation.pixels
    return {
        **_rates(pixels),
        "iou_per_picture": mean(each.pixels.iou for each in evaluation.pictures),
        "seconds_per_picture": median(each.seconds for each in evaluation.pictures),
        "parameters": evaluation.parameters,
    }


def format_detection(evaluation: DetectorEvaluation, about: dict[str, Any]) -> str:
    """Everything that was measured, after what `about` says of the run."""
    found = {
        **about,
        "images": len(evaluation.pictures),
        **none_for_nan(summarise(evaluation)),
        "pictures": [
            {"name": each.name, "split": each.split, "seconds": round(each.seconds, 4)}
            | none_for_nan(_rates(each.pixels))
            for each in evaluation.pictures
        ],
        "problems": [asdict(problem) for problem in evaluation.problems],
    }
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def _rates(pixels: Confusion) -> dict[str, float]:
    return {
        "iou": pixels.iou,
        "balanced_error_rate": pixels.balanced_error_rate,
        "false_negative_rate": pixels.false_negative_rate,
        "false_positive_rate": pixels.false_positive_rate,
    }
