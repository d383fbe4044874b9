"""`deshadow evaluate`: the set, the methods, the figures, and where they are written."""

import os
from dataclasses import replace
from pathlib import Path

from deshadow import __version__
from deshadow.data.pairs.find import PairSet, find
from deshadow.evaluation import detectors
from deshadow.evaluation.build import build_methods
from deshadow.evaluation.degraded_masks import degrade_mask
from deshadow.evaluation.methods import MaskSource, replace_masks
from deshadow.evaluation.options import DEFAULT_DETECTOR, Comparison, MaskKind, Outputs
from deshadow.evaluation.perceptual import lpips_distance
from deshadow.evaluation.protocol import Evaluation, choose_samples, evaluate_method
from deshadow.evaluation.record import format_evaluations
from deshadow.evaluation.report.page import draw_page
from deshadow.removal.remover import Remover
from deshadow.runtime.choice import Runtime
from deshadow.runtime.open import open_detector
from deshadow.system.files import write_whole

PAGE = "index.html"
_SHOWN = 6
"""Number of the worst pictures, and of the best, that the report shows."""


def run(
    folder: Path,
    comparison: Comparison,
    outputs: Outputs = Outputs(),  # noqa: B008 (immutable)
    *,
    split: str | None = None,
    mask: MaskKind = "given",
    detector: str = DEFAULT_DETECTOR,
    limit: int | None = None,
    workers: int | None = None,
    lpips: bool = False,
) -> list[Evaluation]:
    """Evaluate the methods of a comparison on a data set, write the outputs, and return the figures.

    Pairs that cannot be used are left out; each evaluation lists them as problems.
    """
    # What is wrong is said at once, before the removal, which may take hours.
    if workers is not None and workers < 1:
        raise ValueError(f"--workers {workers}: at least 1 is needed")
    _check(folder, outputs)
    perceptual = lpips_distance() if lpips else None
    methods = build_methods(comparison)
    if mask != "given":
        masks = _mask_source(mask, detector, comparison)
        methods = [replace_masks(method, masks, f"{mask} masks") for method in methods]
    pairs = find(folder, split, skip_problems=True)
    samples = choose_samples(pairs, limit)
    evaluations = []
    for method in methods:
        found = evaluate_method(
            method,
            samples,
            workers=workers or (1 if method.every_core else os.cpu_count() or 1),
            shown=_SHOWN if outputs.report else 0,
            perceptual=perceptual,
        )
        evaluations.append(replace(found, problems=(*pairs.problems, *found.problems)))
    _write(evaluations, pairs, comparison, outputs, split, mask)
    return evaluations


def _mask_source(kind: MaskKind, detector: str, comparison: Comparison) -> MaskSource:
    """Where the masks come from that methods are given instead of the set's own."""
    if kind == "detected":
        remover = Remover(detector=open_detector(detector, comparison.device, runtime=comparison.runtime))
        return lambda picture, _: detectors.select_shadows(remover, picture)
    return lambda _, mask: degrade_mask(mask, kind)


def run_detector(
    folder: Path,
    detector: str = DEFAULT_DETECTOR,
    outputs: Outputs = Outputs(),  # noqa: B008 (immutable)
    *,
    split: str | None = None,
    limit: int | None = None,
    device: str = "auto",
    runtime: Runtime = "auto",
) -> detectors.DetectorEvaluation:
    """Evaluate a detector alone on a data set, write the output, and return the figures."""
    if outputs.report:
        raise ValueError("--report shows removed shadows: it cannot be combined with --detection")
    _check(folder, outputs)
    opened = open_detector(detector, device, runtime=runtime)
    pairs = find(folder, split, skip_problems=True)
    found = detectors.evaluate_detector(opened, choose_samples(pairs, limit))
    found = replace(found, problems=(*pairs.problems, *found.problems))
    if outputs.json:
        outputs.json.parent.mkdir(parents=True, exist_ok=True)
        about = _about(pairs, split) | {"detector": Path(detector).stem}
        write_whole(outputs.json, detectors.format_detection(found, about).encode())
    return found


def _about(pairs: PairSet, split: str | None) -> dict[str, str | int | None]:
    return {"deshadow": __version__, "data": pairs.folder.resolve().name, "split": split}


def _write(
    evaluations: list[Evaluation],
    pairs: PairSet,
    comparison: Comparison,
    outputs: Outputs,
    split: str | None,
    mask: MaskKind,
) -> None:
    if outputs.json:
        about = _about(pairs, split) | {
            "mode": comparison.mode,
            "mask": mask,
            "sampler": comparison.sampler,
            "latent": comparison.latent,
            "anchor": comparison.anchor,
            "start": comparison.start,
            "seed": comparison.seed,
        }
        outputs.json.parent.mkdir(parents=True, exist_ok=True)
        write_whole(outputs.json, format_evaluations(evaluations, about).encode())
    if outputs.report:
        title = pairs.folder.resolve().name + (f", {split}" if split else "")
        title += f", {mask} masks" if mask != "given" else ""
        outputs.report.mkdir(parents=True, exist_ok=True)
        write_whole(outputs.report / PAGE, draw_page(evaluations, title).encode(errors="backslashreplace"))


def _check(folder: Path, outputs: Outputs) -> None:
    if outputs.json and (outputs.json.suffix.lower() != ".json" or outputs.json.is_dir()):
        raise ValueError(f"--json {outputs.json}: give the name of a file that ends in .json")
    if outputs.report and outputs.report.exists() and not outputs.report.is_dir():
        raise ValueError(f"--report {outputs.report}: give a folder; it is created if it does not exist")
    for output in (outputs.json, outputs.report):
        if output and output.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{output} lies in the data set: write it elsewhere")
