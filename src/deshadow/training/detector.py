"""Training of the detector: its images, its losses, and its validation."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deshadow.data.augment import Pairs
from deshadow.data.rng import Draws
from deshadow.data.synth.distractors import Distraction, distract
from deshadow.data.synth.recipe import SHADOW_RECIPES
from deshadow.data.synth.triplets import synthesise
from deshadow.data.views import sample_view, vary_light, view_grid
from deshadow.metrics.detection import confusion
from deshadow.nn.detector import ShadowDetector
from deshadow.runtime.torch_backend import TorchDetector
from deshadow.training.batches import HELD_OUT, Source, load_held_out_pairs, open_source
from deshadow.training.options import TrainingOptions
from deshadow.training.samples import ROWS, save_sheet

LIT = 0.2
"""Share of the pictures that are shown without their shadow, with an empty mask."""
RECIPE_ORDER = ("sunlight", "instances", "sunlight", "dappled")
"""Of the synthetic pictures, each for STRETCH images in turn, so that a batch seldom mixes them."""
STRETCH = 512
SMOOTHING = 0.005
"""Share of the picture that is added to numerator and denominator of the overlap, for empty masks."""
CHUNK = 32


class DetectorBatch(NamedTuple):
    """Pictures (B, 3, H, W) in [-1, 1], and where (B, 1, H, W) of 0 and 1 they lie in shadow."""

    picture: Tensor
    mask: Tensor


@dataclass(frozen=True)
class Views:
    """The images of a detector: real and synthetic pictures at any zoom, with dark things painted in."""

    source: Source

    def batch(self, first: int, count: int) -> DetectorBatch:
        """Views number first to first + count − 1."""
        groups: dict[str, list[int]] = {}
        for number in range(first, first + count):
            real = self.source.kind(number) == "real"
            kind = "real" if real else RECIPE_ORDER[number // STRETCH % len(RECIPE_ORDER)]
            groups.setdefault(kind, []).append(number)
        parts = [self.views(kind, numbers) for kind, numbers in groups.items()]
        picture, mask = (torch.cat(views) for views in zip(*parts, strict=True))
        return DetectorBatch(picture.contiguous(memory_format=torch.channels_last), mask)

    def pairs(self, kind: str, numbers: Sequence[int]) -> Pairs:
        """Pairs of one kind, not varied; masks hold all shadows, up to the middle of the penumbra."""
        source = self.source
        if kind == "real":
            return source.choose_pairs(numbers)
        assert source.backgrounds is not None
        assert source.occluders is not None
        recipe = replace(SHADOW_RECIPES[kind], targets="all")
        made = synthesise(source.backgrounds, source.occluders, source.index(numbers), source.seed, recipe)
        return Pairs(made.picture, made.sun < 0.5, made.clean)

    def views(self, kind: str, numbers: Sequence[int]) -> DetectorBatch:
        """Views of one kind."""
        source, draws = self.source, Draws(self.source.seed, self.source.index(numbers))
        assert source.backgrounds is not None
        assert source.occluders is not None
        picture, mask, clean = self.pairs(kind, numbers)
        height, width = picture.shape[-2:]
        samples = -(-max(height, width) // source.size)  # enough samples in a pixel to avoid aliasing
        grid = view_grid(draws, height, width, source.size * samples)
        stacked = torch.cat([picture, clean, mask.to(torch.uint8) * 255], 1).float()
        views = sample_view(stacked, grid, samples) * (1 / 255)
        picture, clean, share = views[:, :3], views[:, 3:6], views[:, 6:]
        lit = draws.chance("lit", 1, 1, 1, of=LIT)
        picture = torch.where(lit, clean, picture)
        picture = distract(picture, clean, source.backgrounds, source.occluders, draws).picture
        picture = (vary_light(picture, draws) * 255).round() * (1 / 127.5) - 1
        return DetectorBatch(picture, ((share > 0.5) & ~lit).float())


def open_views(options: TrainingOptions, device: torch.device) -> Views:
    """Read everything that a detector is trained on; backgrounds and occluders always, for dark things."""
    return Views(open_source(options, device, with_banks=True, margin=1.0))


class DetectorLosses(NamedTuple):
    """One number each; `total` is what is minimised."""

    total: Tensor
    cross_entropy: Tensor
    overlap: Tensor
    """1 − the overlap (Dice) of the found and the true mask, a mean over pictures."""


class DetectorCriterion(nn.Module):
    """A detector with its losses."""

    def __init__(self, model: ShadowDetector) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: DetectorBatch, pretraining: bool = False) -> DetectorLosses:
        """Both losses of a batch, for every pixel alike and for the mask as a whole."""
        assert not pretraining
        logits, mask = self.model(batch.picture).float(), batch.mask
        cross_entropy = F.binary_cross_entropy_with_logits(logits, mask)
        found = torch.sigmoid(logits)
        smoothing = SMOOTHING * mask[0].numel()
        both = (found * mask).sum((1, 2, 3)) + smoothing
        sizes = (found + mask).sum((1, 2, 3)) + 2 * smoothing
        overlap = (1 - 2 * both / sizes).mean()
        return DetectorLosses(cross_entropy + overlap, cross_entropy, overlap)


class DetectorValidation(NamedTuple):
    """The figures of one validation, at a threshold of one half."""

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


class DetectorValidationSet(NamedTuple):
    """The fixed pictures of a run's validations, 8 bits and bool; `painted` is `clean` with dark things."""

    pairs: Pairs
    painted: Tensor
    covered: Tensor


def make_detector_validation_set(options: TrainingOptions, views: Views) -> DetectorValidationSet:
    """Held-out pairs or synthetic ones, and dark things over their clean pictures."""
    source = views.source
    count = options.validation.val_count
    if options.inputs.data is not None:
        pairs = load_held_out_pairs(options.inputs, count, source.device)
    else:
        pairs = views.pairs("sunlight", range(HELD_OUT, HELD_OUT + count))
    assert source.backgrounds is not None
    assert source.occluders is not None
    clean, one_each = pairs.clean.float() * (1 / 255), Distraction(things=(1.0,))
    draws = Draws(0, source.index(range(HELD_OUT, HELD_OUT + len(clean))))
    painted, covered = distract(clean, clean, source.backgrounds, source.occluders, draws, one_each)
    return DetectorValidationSet(pairs, (painted * 255).round().to(torch.uint8), covered)


def validate_detector(model: ShadowDetector, held: DetectorValidationSet) -> DetectorValidation:
    """Find the shadows of all pictures, and compare."""
    detect = TorchDetector(deepcopy(model), str(held.painted.device))
    truth, found = held.pairs.mask, detect_masks(detect, held.pairs.picture)
    counts = confusion(found, truth)
    return DetectorValidation(
        iou=counts.iou,
        iou_per_picture=sum(confusion(*each).iou for each in zip(found, truth, strict=True)) / len(truth),
        balanced_error_rate=counts.balanced_error_rate,
        false_negative_rate=counts.false_negative_rate,
        false_positive_rate=counts.false_positive_rate,
        in_light=100 * float(detect_masks(detect, held.pairs.clean).float().mean()),
        dark_things=100 * _share(detect_masks(detect, held.painted) & held.covered, held.covered),
    )


def detect_masks(detect: TorchDetector, pictures: Tensor) -> Tensor:
    """(N, 3, H, W) of 8 bits → (N, 1, H, W) bool."""
    parts = torch.split(pictures, CHUNK)
    return torch.cat([detect(part.float() / 127.5 - 1) > 0.5 for part in parts])


def _share(part: Tensor, whole: Tensor) -> float:
    return float(part.sum() / whole.sum().clamp(min=1))


def describe_detection(scores: DetectorValidation) -> str:
    """A validation in one line."""
    return (
        f"IoU {scores.iou:.3f} ({scores.iou_per_picture:.3f} a picture), balanced error "
        f"{scores.balanced_error_rate:.2f}% (false negatives "
        f"{scores.false_negative_rate:.2f}%, false positives {scores.false_positive_rate:.2f}%); "
        f"called shadow: {scores.in_light:.2f}% in light, {scores.dark_things:.2f}% of dark things"
    )


def draw_detector_samples(model: ShadowDetector, held: DetectorValidationSet, path: Path) -> None:
    """A row a picture: shadow picture, mask, what was found; then dark things, and what was found there."""
    detect = TorchDetector(deepcopy(model), str(held.painted.device))

    def found(pictures: Tensor) -> Tensor:
        return (detect(pictures.float() / 127.5 - 1) * 255).expand(-1, 3, -1, -1)

    picture, mask, _ = (view[:ROWS] for view in held.pairs)
    painted = held.painted[:ROWS]
    columns = {
        "picture": picture,
        "mask": mask.expand(-1, 3, -1, -1) * 255,
        "detected": found(picture),
        "dark things": painted,
        "detected there": found(painted),
    }
    save_sheet(columns, path)
