"""An evaluation as JSON: every figure of the set and of each picture."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from deshadow.evaluation.protocol import Evaluation, PictureScore
from deshadow.metrics.pooling import gradient_correlation, mean, none_for_nan, pool, sharpness
from deshadow.metrics.scores import RegionScore, Scores


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Everything that was measured, for JSON; nan becomes None."""
    small, native = (scores_of(evaluation, native) for native in (False, True))
    instances = [each.instance for each in evaluation.pictures if each.instance is not None]
    found: dict[str, Any] = {
        "method": evaluation.method.name,
        "note": evaluation.method.note,
        "images": len(evaluation.pictures),
        "regions": {name: none_for_nan(asdict(region)) for name, region in pool(small).items()},
        "regions_native": {name: none_for_nan(asdict(region)) for name, region in pool(native).items()},
        **_gradients(small, native),
        "counts": count_unusual(evaluation),
        "parameters": evaluation.method.parameters,
        **none_for_nan({"seconds_per_picture": median_seconds(evaluation)}),
    }
    if instances:
        found["instances"] = none_for_nan(
            {part: mean(getattr(each, part) for each in instances) for part in instances[0]._fields}
        )
    if any(each.lpips is not None for each in evaluation.pictures):
        found["lpips"] = mean(each.lpips for each in evaluation.pictures if each.lpips is not None)
    return found | {
        "pictures": [_picture(each) for each in evaluation.pictures],
        "problems": [asdict(problem) for problem in evaluation.problems],
    }


def format_evaluations(evaluations: Sequence[Evaluation], about: Mapping[str, Any]) -> str:
    """The figures of one method at the top level, or those of several under `methods`, as JSON."""
    methods = [as_dict(evaluation) for evaluation in evaluations]
    if len(methods) == 1:
        return json.dumps({**about, **methods[0]}, indent=1, allow_nan=False) + "\n"
    images = min(method["images"] for method in methods)
    return json.dumps({**about, "images": images, "methods": methods}, indent=1, allow_nan=False) + "\n"


def count_unusual(evaluation: Evaluation) -> dict[str, int]:
    """Numbers of pictures out of the ordinary; docs/evaluating.md says how each kind is scored."""
    pictures = evaluation.pictures
    return {
        "empty_masks": sum(each.native.regions["shadow"].pixels == 0 for each in pictures),
        "full_masks": sum(each.native.regions["non_shadow"].pixels == 0 for each in pictures),
        "grey": sum(each.grey for each in pictures),
        "resized_results": sum(each.resized for each in pictures),
        "problems": len(evaluation.problems),
    }


def median_seconds(evaluation: Evaluation) -> float:
    """The median time of a picture, which a slow first one does not change."""
    if not evaluation.method.timed:
        return math.nan
    return median(each.seconds for each in evaluation.pictures)


def scores_of(evaluation: Evaluation, native: bool) -> list[Scores]:
    """The figures of each picture at 256 × 256, or at its native size."""
    return [each.native if native else each.small for each in evaluation.pictures]


def _picture(picture: PictureScore) -> dict[str, Any]:
    plain = {
        name: getattr(picture, name)
        for name in ("name", "split", "width", "height", "shadow_fraction", "dark_rate", "grey", "resized")
    }
    extra: dict[str, Any] = {}
    if picture.instance is not None:
        extra["instance"] = none_for_nan(picture.instance._asdict())
    if picture.lpips is not None:
        extra["lpips"] = picture.lpips
    return {
        **none_for_nan(plain),
        "seconds": round(picture.seconds, 4),
        "regions": _regions(picture.small),
        "regions_native": _regions(picture.native),
        **_gradients([picture.small], [picture.native]),
        **extra,
    }


def _gradients(small: Sequence[Scores], native: Sequence[Scores]) -> dict[str, Any]:
    return none_for_nan(
        {
            "sharpness": sharpness(small),
            "sharpness_native": sharpness(native),
            "gradient_correlation": gradient_correlation(small),
            "gradient_correlation_native": gradient_correlation(native),
        }
    )


def _regions(scores: Scores) -> dict[str, dict[str, Any]]:
    return {name: none_for_nan(_region(region)) for name, region in scores.regions.items()}


def _region(score: RegionScore) -> dict[str, Any]:
    pixels = score.pixels or math.nan
    return {
        "pixels": score.pixels,
        "lab_mae": score.lab_mae,
        "lab_rmse": math.sqrt(score.lab_squared / pixels),
        "psnr": score.psnr if score.pixels else math.nan,
        "psnr_region": score.psnr_region,
        "ssim": score.ssim if score.pixels else math.nan,
    }
