"""The command line: parses, calls, prints. What a command does lives in the module that it calls."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from deshadow import __version__, streams
from deshadow.commands import detect, doctor, remove
from deshadow.data.layouts import Layout
from deshadow.evaluation.choices import Masks, Mode
from deshadow.serve.cli import serve

# Each command imports what it needs when it runs, so that `--help` answers at once.
app = App(
    name="deshadow",
    help="Remove shadows from photographs.",
    version=__version__,
    version_flags=["--version"],
    help_format="markdown",
)


app.default(remove)
app.command(detect)
app.command(doctor)
app.command(serve)


@app.command
def models(
    *,
    size: Annotated[int, Parameter(help="Side of the picture that GFLOP are counted for.")] = 256,
) -> None:
    """List the presets, with what each costs."""
    from rich.console import Console

    from deshadow.report import models_table

    Console().print(models_table(size))


@app.command
def export(
    checkpoint: Annotated[str, Parameter(help="A .safetensors file, or the name of shipped weights.")], /
) -> None:
    """Write the ONNX graphs of a checkpoint beside it, so that it runs without torch."""
    from deshadow.extras import require

    require("export", "torch", "onnx", "onnxscript")
    from deshadow.export import export as write_graphs

    for graph in write_graphs(checkpoint):
        print(graph)  # noqa: T201


@app.command
def compress(
    checkpoint: Annotated[str, Parameter(help="A .safetensors file, or the name of shipped weights.")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The file to write.")],
) -> None:
    """Write a checkpoint anew with weights of 8 bits, at half the size of half precision."""
    from deshadow.checkpoint import compress as write_compressed

    written = write_compressed(checkpoint, output)
    print(f"{written}: {written.stat().st_size / 2**20:.1f} MiB")  # noqa: T201


# The options of training are a dataclass that also serves where this command line is not installed.
@app.command(help_flags=[], version_flags=[])
def train(*options: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> None:
    """Train a model; `deshadow train --help` lists the options."""
    from deshadow.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.__main__ import main as start
    from deshadow.training.curves import draw_curves

    folder = start(options)
    print(draw_curves(folder))  # noqa: T201


@app.command(help_flags=[], version_flags=[])
def ablate(*options: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> None:
    """Train and score the rows of the paper's ablations; `deshadow ablate --help` lists the options."""
    from deshadow.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.ablate import main as start

    tables = start(options)
    print(tables.read_text(encoding="utf-8"))  # noqa: T201
    print(tables)  # noqa: T201


@app.command(help_flags=[], version_flags=[])
def distill(*options: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> None:
    """Train a student from a teacher; `deshadow distill --help` lists the options."""
    from deshadow.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.curves import draw_curves
    from deshadow.training.distill import TABLE
    from deshadow.training.distill import main as start

    folder = start(options)
    if (folder / TABLE).exists():  # not yet, where it was paused
        print((folder / TABLE).read_text(encoding="utf-8"))  # noqa: T201
    print(draw_curves(folder))  # noqa: T201


@app.command
def collapse(
    without: Annotated[str, Parameter(help="Weights of a model without fusion, a path or a name.")],
    fused: Annotated[str, Parameter(name="with", help="Weights of the same with it.")],
    folder: Annotated[Path, Parameter(help="The folder of the data set.")],
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o", help="The picture: .png, .svg or .pdf; JSON beside it.")],
    names: Annotated[tuple[str, str], Parameter(negative=(), help="What to call the two models.")] = (
        "without fusion",
        "dense fusion",
    ),
    split: Annotated[str | None, Parameter(help="By default val, or test, or all.")] = None,
    count: Annotated[int, Parameter(help="Pictures, from all over the set.")] = 32,
    size: Annotated[int, Parameter(help="Side that they are brought to.")] = 256,
    steps: Annotated[int, Parameter(help="Steps from noise to picture, each of them a point.")] = 10,
    seed: Annotated[int, Parameter(help="Of the noise.")] = 0,
    device: Annotated[str, Parameter(help="auto, cpu, or a device of torch: cuda, mps.")] = "auto",
) -> None:
    """Draw whether two models heed y_t: its mean against that of the predicted y_{t-1} (Fig. 6)."""
    from deshadow.extras import require

    require("train", "torch", "matplotlib")
    from deshadow.training.collapse import collapse_to_files

    for path in collapse_to_files(
        dict(zip(names, (without, fused), strict=True)),
        folder,
        output,
        split=split,
        count=count,
        size=size,
        steps=steps,
        seed=seed,
        device=device,
    ):
        print(path)  # noqa: T201


@app.command
def curves(
    run: Annotated[Path, Parameter(help="The folder of a training run, under way or done.")],
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o", help="The picture, if not RUN/curves.png.")] = None,
) -> None:
    """Draw the curves of a training run from its log."""
    from deshadow.extras import require

    require("train", "matplotlib")
    from deshadow.training.curves import draw_curves

    print(draw_curves(run, output))  # noqa: T201


data = App(name="data", help="Look at data sets, and prepare them.")
app.command(data)

Folder = Annotated[Path, Parameter(help="The folder of the data set.")]
Split = Annotated[str | None, Parameter(help="One split, by its name: train, test, val. All, unless given.")]
SkipProblems = Annotated[
    bool, Parameter(negative=(), help="List pairs that cannot be used and go on without them.")
]


@data.command
def look(
    folder: Folder,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o", help="The contact sheet to write: .png, .jpg or .webp.")],
    split: Split = None,
    layout: Annotated[
        Layout | None,
        Parameter(help="How the folder is laid out. Found by looking, unless given."),
    ] = None,
    count: Annotated[int, Parameter(help="Triplets on the sheet, from all over the set.")] = 24,
    dark_rate: Annotated[
        Path | None, Parameter(help="Plot how dark the shadows are to this file: .png, .svg or .pdf.")
    ] = None,
    skip_problems: SkipProblems = False,
) -> None:
    """Draw a contact sheet of a data set and print its figures."""
    from rich.console import Console

    from deshadow.data import look as looking

    found = looking.look(folder, output, split, layout, count, dark_rate, skip_problems)
    console = Console(soft_wrap=True)
    console.print(looking.table(found), highlight=False)
    for problem in found.problems:
        console.print(f"problem: {problem}", highlight=False, markup=False)


@data.command
def adjust(
    folder: Folder,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o", help="The new folder, to be laid out as AISTD is.")],
    split: Split = None,
    skip_problems: SkipProblems = False,
) -> None:
    """Make AISTD from ISTD: bring shadow-free pictures to the colours of their shadow pictures."""
    from rich.console import Console

    from deshadow.data.aistd import adjust_folder

    count, before, after, problems = adjust_folder(folder, output, split, skip_problems)
    console = Console(soft_wrap=True)
    console.print(
        f"{output}: pairs {count:,}; mean difference outside the shadow, of 255: "
        f"{before:.2f} before, {after:.2f} after",
        highlight=False,
        markup=False,
    )
    for problem in problems:
        console.print(f"problem: {problem}", highlight=False, markup=False)


@app.command
def synth(
    *,
    count: int,
    out: Path,
    backgrounds: Path | None = None,
    occluders: Path | None = None,
    seed: int = 0,
    size: int = 256,
    preset: Literal["sunlight", "instances", "dappled", "overcast"] = "sunlight",
    targets: Literal["all", "one", "some"] | None = None,
    dark_rate: Annotated[tuple[float, float] | None, Parameter(negative=())] = None,
    device: str = "cpu",
) -> None:
    """Make pictures with shadows, the same without, and the masks.

    Writes shadow/, mask/, shadow_free/ and instances/ as PNG. The same seed gives the same files, and
    a run that was broken off goes on where it stopped.

    Parameters
    ----------
    count
        How many triplets.
    out
        Folder to write to: new, empty, or begun with the same settings.
    backgrounds
        Folder or tar of evenly lit pictures. Left out: brick, tiles, asphalt, grass, planks and more
        are drawn.
    occluders
        Folder or tar of silhouettes, bright or opaque where they block light. Left out: people, plants,
        hands and lumps are drawn. Foliage, buildings, bars and cables are always drawn.
    seed
        Another seed, other pictures.
    size
        Side of the pictures in pixels.
    preset
        sunlight: like real outdoor pairs. instances: several shadows, one to remove. dappled: under
        trees. overcast: weak and soft.
    targets
        Which shadows to remove: all, one, or some. Left out: what the preset says.
    dark_rate
        Least and most ratio of lit to shaded light, as in `--dark-rate 3 8`. Left out: what the preset says.
    device
        Where to compute: cpu or cuda.
    """
    from deshadow.extras import require

    require("train", "torch")
    from deshadow.data.command import synth_to_disk

    new = synth_to_disk(out, count, backgrounds, occluders, seed, size, preset, targets, dark_rate, device)
    print(f"{out}: {count} triplets, {new} of them new")  # noqa: T201


@app.command
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
        Masks, Parameter(help="The set's own masks, detected ones, or its own made worse.")
    ] = "given",
    detector: Annotated[
        str, Parameter(help="What finds the masks: shipped weights by name, or a .safetensors file.")
    ] = "detector",
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
    from deshadow.evaluation import command, finding, table
    from deshadow.evaluation.methods import Request

    outputs = command.Outputs(json, report)
    if detection:
        if weights or results or compare:
            raise ValueError("--detection scores the detector alone: compare methods in a run of its own")
        finding.show(command.run_detector(folder, detector, outputs, split=split, limit=limit, device=device))
        return
    names = [name.strip() for name in compare.split(",")] if compare else []
    request = Request(names, weights or [], results or [], mode, steps or [], seed, jump, resamplings, device)
    found = command.run(
        folder,
        request,
        outputs,
        split=split,
        mask=mask,
        detector=detector,
        limit=limit,
        workers=workers,
        lpips=lpips,
    )
    table.show(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; what a user can cause ends in one line on stderr and exit code 2."""
    streams.prepare()
    try:
        try:
            app(arguments, exit_on_error=False, print_error=False)
        finally:
            streams.finish()
    except BrokenPipeError:  # who read what is printed has gone
        sys.exit(1)
    except (CycloptsError, ValueError, OSError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def fail(message: str) -> None:
    """End with one line on stderr and exit code 2."""
    print(f"deshadow: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
