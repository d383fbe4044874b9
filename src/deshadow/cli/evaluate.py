"""`deshadow evaluate`: how well methods remove the shadows of a data set. Heavy modules load when it runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from deshadow.cli.parameters import ChosenRuntime, Folder, Split
from deshadow.diffusion.choices import AnchorKind, Sampler
from deshadow.evaluation.options import DEFAULT_DETECTOR, EvaluationMode, LatentKind, MaskKind


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
        Parameter(
            negative=(), help="Score results that were made elsewhere: FOLDER or NAME=FOLDER. Repeatable."
        ),
    ] = None,
    compare: Annotated[
        str | None,
        Parameter(
            help="Methods to compare, with commas: input, gain, lab, and names of weights and results."
        ),
    ] = None,
    split: Split = None,
    mask: Annotated[
        MaskKind,
        Parameter(
            help="Masks that methods are given. given: the set's; detected: the detector's; the others: the "
            "set's, degraded."
        ),
    ] = "given",
    detector: Annotated[
        str, Parameter(help="The detector: shipped weights by name, or a .safetensors file.")
    ] = DEFAULT_DETECTOR,
    detection: Annotated[
        bool, Parameter(negative=(), help="Score the detector alone, against the set's masks.")
    ] = False,
    mode: Annotated[
        EvaluationMode,
        Parameter(help="Score the network's output at 256×256, or the photo after Quick or Removal."),
    ] = "network",
    steps: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Sampling steps: N, or NAME=N for one model. Default: 50 if it predicts noise or v, else 1.",
        ),
    ] = None,
    sampler: Annotated[Sampler, Parameter(help="Sampler of the diffusion.")] = "ddim",
    latent: Annotated[
        LatentKind,
        Parameter(
            help="Latent that guides the denoiser: the picture's own, that of another scene, the mean over "
            "the set, or zero. All but own need --mode network."
        ),
    ] = "own",
    anchor: Annotated[
        AnchorKind,
        Parameter(
            help="What is kept of the lit part of the photo while sampling: none, as in the paper; lit: the "
            "pixels outside the mask; mean: only their mean colour. Needs --mode network."
        ),
    ] = "none",
    start: Annotated[
        int | None,
        Parameter(
            help="Timestep at which sampling starts, from the photo diffused to it, 1 to 1000. "
            "Default: pure noise. Needs --mode network."
        ),
    ] = None,
    seed: Annotated[int, Parameter(help="Seed of the noise; each picture has noise of its own.")] = 0,
    jump: Annotated[int, Parameter(help="RePaint: length of the jumps back, in steps.")] = 10,
    resamplings: Annotated[
        int, Parameter(help="RePaint: how many times each stretch of steps is sampled.")
    ] = 10,
    limit: Annotated[
        int | None, Parameter(help="Number of pictures to score, evenly spaced over the set. Default: all.")
    ] = None,
    json: Annotated[Path | None, Parameter(help="Write all figures to this file.")] = None,
    report: Annotated[
        Path | None, Parameter(help="Write a page with tables and pictures to this folder.")
    ] = None,
    lpips: Annotated[
        bool, Parameter(negative=(), help="Measure LPIPS as well; needs the package lpips.")
    ] = False,
    device: Annotated[
        str, Parameter(help="Where models run: auto, cpu, or a device of torch (cuda, mps).")
    ] = "auto",
    runtime: ChosenRuntime = "auto",
    workers: Annotated[
        int | None, Parameter(help="Number of threads that read and score. Default: all cores.")
    ] = None,
) -> None:
    """Score shadow removal on a data set as the paper does: in the shadow, outside it, and everywhere."""
    from deshadow.evaluation import run
    from deshadow.evaluation.options import Comparison, Outputs
    from deshadow.evaluation.report import table

    outputs = Outputs(json, report)
    if detection:
        if weights or results or compare:
            raise ValueError("--detection scores the detector alone: compare methods in another run")
        table.print_detection(
            run.run_detector(
                folder, detector, outputs, split=split, limit=limit, device=device, runtime=runtime
            )
        )
        return
    comparison = Comparison(
        compare=[compare] if compare else [],
        weights=weights or [],
        results=results or [],
        mode=mode,
        steps=steps or [],
        sampler=sampler,
        latent=latent,
        anchor=anchor,
        start=start,
        seed=seed,
        jump=jump,
        resamplings=resamplings,
        device=device,
        runtime=runtime,
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
    table.print_tables(found)
