"""Validation of a detector: on held-out pairs, on held-out photos, and on dark things that are no shadows."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.data.photos import Photos
from deshadow.data.rng import Draws
from deshadow.data.synth.dark_surfaces import DarkSurface, add_dark_surface
from deshadow.data.synth.distractors import Distraction, Painted, distract
from deshadow.data.synth.recipe import SHADOW_RECIPES
from deshadow.data.synth.triplets import cast_shadows
from deshadow.metrics.detection import Confusion, confusion
from deshadow.nn.detector import ShadowDetector
from deshadow.runtime.torch_backend import TorchDetector
from deshadow.training.batches import HELD_OUT, load_held_out_pairs
from deshadow.training.detector_views import Views
from deshadow.training.options import TrainingOptions
from deshadow.training.samples import ROWS, save_sheet

CHUNK = 32


class DetectorValidation(NamedTuple):
    """The figures of one validation, at a threshold of one half; 0 where a run has no such pictures."""

    iou: float
    """Intersection over union, of the pixels of all pictures together."""
    iou_per_picture: float
    balanced_error_rate: float
    """Percent: the mean of the next two."""
    false_negative_rate: float
    """Percent of the shadows' pixels that were not detected."""
    false_positive_rate: float
    """Percent of the other pixels that were detected."""
    in_light: float
    """Percent of the pixels of the clean pictures that were detected as shadow."""
    dark_things: float
    """Percent of the pixels of dark things, painted over the clean pictures, that were detected as shadow."""
    dark_surfaces: float
    """The same for dark surfaces that fill most of the picture."""
    standing_things: float
    """The same for things that stand at the foot of their shadow."""
    photo_iou: float
    """Intersection over union on the held-out photos with masks."""
    photo_balanced_error_rate: float
    """Balanced error rate there, in percent."""
    lit_photos: float
    """Percent of the pixels of the held-out photos without shadows that were detected as shadow."""


class DetectorValidationSet(NamedTuple):
    """The fixed pictures of a run's validations, 8 bits and bool."""

    pairs: Pairs
    things: Painted
    """The clean pictures with dark things."""
    surfaces: Painted
    """The clean pictures behind dark surfaces."""
    standing: Painted
    """The clean pictures with things that stand on them, and with their shadows."""
    masked: Photos | None = None
    lit: Photos | None = None


def make_detector_validation_set(options: TrainingOptions, views: Views) -> DetectorValidationSet:
    """Held-out pairs or synthetic ones, dark things over their clean pictures, and held-out photos."""
    source = views.source
    count = options.validation.val_count
    if options.inputs.data is not None:
        pairs = load_held_out_pairs(options.inputs, count, source.device)
    else:
        made = views.pictures("sunlight", range(HELD_OUT, HELD_OUT + count), standing=0.0)
        pairs = Pairs(made.picture, made.shadow > 127, made.clean)
    assert source.backgrounds is not None
    assert source.occluders is not None
    clean = pairs.clean.float() * (1 / 255)
    draws = Draws(0, source.index(range(HELD_OUT, HELD_OUT + len(clean))))
    banks = source.backgrounds, source.occluders, draws
    recipe = replace(SHADOW_RECIPES["standing"], targets="all")
    standing = cast_shadows(pairs.clean, source.occluders, draws, recipe)
    return DetectorValidationSet(
        pairs,
        round_painted(distract(clean, clean, *banks, Distraction(things=(1.0,)))),
        round_painted(add_dark_surface(clean, clean, *banks, DarkSurface(chance=1.0))),
        Painted(standing.picture, standing.things),
        *(None if split is None else split.held_out for split in (views.masked, views.lit)),
    )


def round_painted(painted: Painted) -> Painted:
    """The same with pictures of 8 bits."""
    return Painted((painted.picture * 255).round().to(torch.uint8), painted.covered)


def validate_detector(model: ShadowDetector, held: DetectorValidationSet) -> DetectorValidation:
    """Find the shadows of all pictures, and compare."""
    detect = TorchDetector(deepcopy(model), str(held.pairs.picture.device))
    truth, found = held.pairs.mask, detect_masks(detect, held.pairs.picture)
    counts = confusion(found, truth)
    photos = Confusion()
    if held.masked is not None:
        photos = confusion(detect_masks(detect, held.masked.picture), held.masked.mask)
    return DetectorValidation(
        iou=counts.iou,
        iou_per_picture=sum(confusion(*each).iou for each in zip(found, truth, strict=True)) / len(truth),
        balanced_error_rate=counts.balanced_error_rate,
        false_negative_rate=counts.false_negative_rate,
        false_positive_rate=counts.false_positive_rate,
        in_light=measure_share(detect, held.pairs.clean),
        dark_things=measure_share(detect, *held.things),
        dark_surfaces=measure_share(detect, *held.surfaces),
        standing_things=measure_share(detect, *held.standing),
        photo_iou=photos.iou if held.masked is not None else 0.0,
        photo_balanced_error_rate=photos.balanced_error_rate if held.masked is not None else 0.0,
        lit_photos=0.0 if held.lit is None else measure_share(detect, held.lit.picture),
    )


def measure_share(detect: TorchDetector, pictures: Tensor, within: Tensor | None = None) -> float:
    """Percent of the pixels (N, 3, H, W) that are detected as shadow, of those `within` a mask if given."""
    found = detect_masks(detect, pictures)
    if within is None:
        return 100 * float(found.float().mean())
    return 100 * float((found & within).sum() / within.sum().clamp(min=1))


def detect_masks(detect: TorchDetector, pictures: Tensor) -> Tensor:
    """(N, 3, H, W) of 8 bits → (N, 1, H, W) bool."""
    parts = torch.split(pictures, CHUNK)
    return torch.cat([detect(part.float() / 127.5 - 1) > 0.5 for part in parts])


def describe_detection(scores: DetectorValidation) -> str:
    """A validation in one line."""
    return (
        f"IoU {scores.iou:.3f} ({scores.iou_per_picture:.3f} a picture), balanced error "
        f"{scores.balanced_error_rate:.2f}% (false negatives "
        f"{scores.false_negative_rate:.2f}%, false positives {scores.false_positive_rate:.2f}%); "
        f"photos: IoU {scores.photo_iou:.3f}, balanced error {scores.photo_balanced_error_rate:.2f}%; "
        f"called shadow: {scores.in_light:.2f}% in light, {scores.lit_photos:.2f}% of lit photos, "
        f"{scores.dark_things:.2f}% of dark things, {scores.dark_surfaces:.2f}% of dark surfaces, "
        f"{scores.standing_things:.2f}% of standing things"
    )


def draw_detector_samples(model: ShadowDetector, held: DetectorValidationSet, path: Path) -> None:
    """A row a picture: shadow picture, mask, what was found; then things that are no shadow, and the same."""
    detect = TorchDetector(deepcopy(model), str(held.pairs.picture.device))

    def found(pictures: Tensor) -> Tensor:
        return (detect(pictures.float() / 127.5 - 1) * 255).expand(-1, 3, -1, -1)

    picture, mask, _ = (view[:ROWS] for view in held.pairs)
    columns = {"picture": picture, "mask": mask.expand(-1, 3, -1, -1) * 255, "detected": found(picture)}
    others = {"dark things": held.things, "dark surfaces": held.surfaces, "standing things": held.standing}
    for name, painted in others.items():
        columns[name] = painted.picture[:ROWS]
        columns[f"{name}, detected"] = found(columns[name])
    save_sheet(columns, path)
