"""`deshadow latent`: what guides the removal on photos, drawn. It imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from deshadow.cli.parameters import ChosenRuntime, DetectorWeights, Device
from deshadow.runtime.choice import Runtime


def latent(
    *photos: Annotated[str, Parameter(help="Files, folders or patterns. Each photo gets a row.")],
    output: Annotated[
        Path, Parameter(alias="-o", help="Picture to write, in any format that photos can be written in.")
    ],
    weights: Annotated[
        tuple[str, ...],
        Parameter(
            negative=(),
            consume_multiple=True,
            show_default=False,
            help="Networks that remove shadows: name of shipped weights (light unless given), or a "
            ".safetensors file. With several, the guidances of all are drawn side by side, and no result "
            "(Fig. 5).",
        ),
    ] = ("light",),
    mask: Annotated[
        Path | None,
        Parameter(
            help="A picture that is white in the shadow, or a folder of such pictures named like the photos. "
            "Without it the shadows are found."
        ),
    ] = None,
    detector: DetectorWeights = "detector",
    device: Device = "auto",
    runtime: ChosenRuntime = "auto",
) -> None:
    """Draw the latent of photos: photo, mask, latent and result side by side, as the network sees them.

    A latent is drawn in grey, from its 1st percentile (black) to its 99th (white); the values stand under it.
    Weights that are guided by a colour map or a coarse picture instead show that.
    """
    for line in draw_latents(photos, output, weights, mask, detector, device, runtime):
        print(line)  # noqa: T201


def draw_latents(
    photos: tuple[str, ...],
    output: Path,
    weights: tuple[str, ...],
    mask: Path | None,
    detector: str,
    device: str,
    runtime: Runtime = "auto",
) -> list[str]:
    """Write the picture; returns a line for each photo."""
    from deshadow.photo import format_of, read_photo
    from deshadow.photo.inputs import open_mask
    from deshadow.removal import sheets
    from deshadow.removal.guidance import draw_guidance_sheet, draw_panels
    from deshadow.removal.remover import Remover
    from deshadow.removal.tasks import check_outputs, make_folder, plan_tasks
    from deshadow.system.files import silence_pillow, silence_stderr, write_output

    if not photos:
        raise ValueError("no photo given: deshadow latent PHOTO -o FILE")
    silence_pillow()
    kind = format_of(output)
    tasks = plan_tasks(photos, None, mask)
    check_outputs(tasks, [output])
    if problems := [task.problem for task in tasks if task.problem]:
        raise ValueError(problems[0])
    removers = {name_weights(each): Remover(each, detector, device, runtime=runtime) for each in weights}
    if len(removers) < len(weights):
        raise ValueError("two of the weights have the same name: rename a file or its folder")
    rows, lines = [], []
    for task in tasks:
        if task.photo is None:
            raise ValueError("deshadow latent reads files, not standard input: give the name of a photo")
        with silence_stderr():
            photo = read_photo(Path(task.photo))
            given = None if task.mask is None else open_mask(task.mask)[0]
        panels = list(draw_panels(removers, photo.pixels, given, task.photo.name))
        rows.append(panels)
        drawn = "; ".join(
            f"{panel.title}, {panel.note}" if panel.note else panel.title for panel in panels[1:]
        )
        lines.append(f"{task.photo}: {drawn}")
    make_folder(output.parent)
    write_output(output, sheets.encode_image(draw_guidance_sheet(rows), kind))
    return [*lines, str(output)]


def name_weights(given: str) -> str:
    """What weights are called under their picture: `light`, or `ours` for runs/ours/weights.safetensors."""
    path = Path(given)
    return path.resolve().parent.name if path.name == "weights.safetensors" else path.stem
