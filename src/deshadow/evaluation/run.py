"""`deshadow evaluate`: the set, the methods, the figures, and where they are written."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from deshadow import __version__
from deshadow.data.pairs.find import PairSet, find
from deshadow.evaluation import finding
from deshadow.evaluation.choices import Masks
from deshadow.evaluation.methods import Masking, Request, build, with_masks
from deshadow.evaluation.perceptual import lpips_distance
from deshadow.evaluation.protocol import Evaluation, choose, evaluate
from deshadow.evaluation.record import as_json
from deshadow.evaluation.report.page import draw_page
from deshadow.evaluation.spoilt import SPOILT
from deshadow.runtime.backends import open_detector
from deshadow.system.files import write_whole

DEFAULT_WEIGHTS = "light"
DEFAULT_DETECTOR = "detector"
PAGE = "index.html"
_SHOWN = 6
"""Pictures in the report, of the worst and of the best each."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """What is written, if anything."""

    json: Path | None = None
    report: Path | None = None
    """The folder of the report; the page in it carries everything."""


def run(
    folder: Path,
    request: Request,
    outputs: Outputs = Outputs(),  # noqa: B008 (immutable)
    *,
    split: str | None = None,
    mask: Masks = "given",
    detector: str = DEFAULT_DETECTOR,
    limit: int | None = None,
    workers: int | None = None,
    lpips: bool = False,
) -> list[Evaluation]:
    """Evaluate the methods of a request on a data set, write what is asked for, and return the figures.

    Pairs that cannot be used are left out and found in each evaluation's problems.
    """
    # All that can be refused is refused before the removal, which may take hours.
    if workers is not None and workers < 1:
        raise ValueError("somebody has to do the work: --workers 1 or more")
    _check(folder, outputs)
    perceptual = lpips_distance() if lpips else None
    methods = build(request, DEFAULT_WEIGHTS)
    if mask != "given":
        masks = _masks(mask, detector, request.device)
        methods = [with_masks(method, masks, f"{mask} masks") for method in methods]
    pairs = find(folder, split, skip_problems=True)
    samples = choose(pairs, limit)
    evaluations = []
    for method in methods:
        found = evaluate(
            method,
            samples,
            workers=workers or (1 if method.every_core else os.cpu_count() or 1),
            shown=_SHOWN if outputs.report else 0,
            perceptual=perceptual,
        )
        evaluations.append(replace(found, problems=(*pairs.problems, *found.problems)))
    _write(evaluations, pairs, request, outputs, split, mask)
    return evaluations


def _masks(kind: Masks, detector: str, device: str) -> Masking:
    """What a method is given instead of the set's own masks."""
    if kind == "detected":
        found = finding.finder(open_detector(detector, device))
        return lambda picture, _: found(picture)
    return lambda _, mask: SPOILT[kind](mask)


def run_detector(
    folder: Path,
    detector: str = DEFAULT_DETECTOR,
    outputs: Outputs = Outputs(),  # noqa: B008 (immutable)
    *,
    split: str | None = None,
    limit: int | None = None,
    device: str = "auto",
) -> finding.Finding:
    """Evaluate a detector alone on a data set, write what is asked for, and return the figures."""
    if outputs.report:
        raise ValueError("--report shows what was removed: leave it out with --detection")
    _check(folder, outputs)
    opened = open_detector(detector, device)
    pairs = find(folder, split, skip_problems=True)
    found = finding.score_detector(opened, choose(pairs, limit))
    found = replace(found, problems=(*pairs.problems, *found.problems))
    if outputs.json:
        outputs.json.parent.mkdir(parents=True, exist_ok=True)
        about = _about(pairs, split) | {"detector": Path(detector).stem}
        write_whole(outputs.json, finding.as_json(found, about).encode())
    return found


def _about(pairs: PairSet, split: str | None) -> dict[str, str | int | None]:
    return {"deshadow": __version__, "data": pairs.folder.resolve().name, "split": split}


def _write(
    evaluations: list[Evaluation],
    pairs: PairSet,
    request: Request,
    outputs: Outputs,
    split: str | None,
    mask: Masks,
) -> None:
    if outputs.json:
        about = _about(pairs, split) | {"mode": request.mode, "mask": mask, "seed": request.seed}
        outputs.json.parent.mkdir(parents=True, exist_ok=True)
        write_whole(outputs.json, as_json(evaluations, about).encode())
    if outputs.report:
        title = pairs.folder.resolve().name + (f", {split}" if split else "")
        title += f", {mask} masks" if mask != "given" else ""
        outputs.report.mkdir(parents=True, exist_ok=True)
        write_whole(outputs.report / PAGE, draw_page(evaluations, title).encode(errors="backslashreplace"))


def _check(folder: Path, outputs: Outputs) -> None:
    if outputs.json and (outputs.json.suffix.lower() != ".json" or outputs.json.is_dir()):
        raise ValueError(f"--json {outputs.json}: give the name of a file that ends in .json")
    if outputs.report and outputs.report.exists() and not outputs.report.is_dir():
        raise ValueError(f"--report {outputs.report}: give a folder, which is made if it is not there")
    for output in (outputs.json, outputs.report):
        if output and output.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{output} lies in the data set: write it elsewhere")
