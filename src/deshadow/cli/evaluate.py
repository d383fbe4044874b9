"""`deshadow evaluate`: the figures of a data set. It imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from deshadow.cli.parameters import Folder, Split
from deshadow.evaluation.options import DEFAULT_DETECTOR, LatentKind, MaskKind, Mode
from deshadow.removal.options import Solver


def evaluate(
    folder: Folder,
    /,
    *,
    weights: Annotated[
        list[str] | None,
        Parameter(
            negative=(), help="Shipped weights by name, a .safetensors file, or NAME=FILE. Repeatable."
        ),
    ] = None,
    results: Annotated[
        list[str] | None,
        Parameter(negative=(), help="Score pictures made elsewhere: FOLDER or NAME=FOLDER. Repeatable."),
    ] = None,
    compare: Annotated[
        str | None,
        Parameter(help="Methods of one table: input, gain, lab, and the names of weights and results."),
    ] = None,
    split: Split = None,
    mask: Annotated[
        MaskKind, Parameter(help="The set's own masks, detected ones, or its own degraded.")
    ] = "given",
    detector: Annotated[
        str, Parameter(help="What finds the masks: shipped weights by name, or a .safetensors file.")
    ] = DEFAULT_DETECTOR,
    detection: Annotated[
        bool, Parameter(negative=(), help="Score the detector alone: are the set's masks found?")
    ] = False,
    mode: Annotated[
        Mode, Parameter(help="The network alone at 256×256, or the whole path of a photo.")
    ] = "network",
    steps: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Sampling steps: N, or NAME=N for one model. By default 1, or 50 for what predicts noise.",
        ),
    ] = None,
    sampler: Annotated[Solver, Parameter(help="Sampler of the diffusion.")] = "ddim",
    latent: Annotated[
        LatentKind,
        Parameter(
            help="Latent that guides the denoiser: the picture's own, that of another scene, the mean over "
            "the set, or zero. All but own need --mode network."
        ),
    ] = "own",
    seed: Annotated[int, Parameter(help="Of the noise; each picture has its own from it.")] = 0,
    jump: Annotated[int, Parameter(help="RePaint: steps between its returns.")] = 10,
    resamplings: Annotated[int, Parameter(help="RePaint: how often each stretch is gone.")] = 10,
    limit: Annotated[int | None, Parameter(help="Only so many pictures, from all over the set.")] = None,
    json: Annotated[Path | None, Parameter(help="Write every figure to this file.")] = None,
    report: Annotated[Path | None, Parameter(help="Write a page with tables and pictures there.")] = None,
    lpips: Annotated[bool, Parameter(negative=(), help="LPIPS too; needs the package lpips.")] = False,
    device: Annotated[str, Parameter(help="auto, cpu, or a device of torch: cuda, mps.")] = "auto",
    workers: Annotated[int | None, Parameter(help="Threads that read and score. All cores.")] = None,
) -> None:
    """Score shadow removal on a data set as the paper does: in the shadow, outside it, and everywhere."""
    from deshadow.evaluation import detectors, run
    from deshadow.evaluation.options import Comparison, Outputs
    from deshadow.evaluation.report import table

    outputs = Outputs(json, report)
    if detection:
        if weights or results or compare:
            raise ValueError("--detection scores the detector alone: compare methods in a run of its own")
        detectors.show(run.run_detector(folder, detector, outputs, split=split, limit=limit, device=device))
        return
    names = [name.strip() for name in compare.split(",")] if compare else []
    comparison = Comparison(
        names=names,
        weights=weights or [],
        results=results or [],
        mode=mode,
        steps=steps or [],
        sampler=sampler,
        latent=latent,
        seed=seed,
        jump=jump,
        resamplings=resamplings,
        device=device,
    )
    found = run.run(
        folder,
        comparison,
        outputs,
        split=split,
        mask=mask,
        detector=detector,
        limit=limit,
        workers=workers,
        lpips=lpips,
    )
    table.show(found)
