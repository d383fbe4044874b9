"""The curves of a run, drawn from its log: losses as in the paper's appendix B, validations, the latent."""

import io
import math
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from deshadow.system.files import write_whole
from deshadow.training.journal import read_log


class Panel(NamedTuple):
    """One of six diagrams: values of a kind of log line, by name, with their legend."""

    title: str
    kind: str
    figures: dict[str, str]
    logarithmic: bool = False


FEW = 12
REMOVER_PANELS = (
    Panel("denoiser loss", "train", {"denoiser": ""}, logarithmic=True),
    Panel("encoder loss", "stage two", {"encoder": ""}, logarithmic=True),
    Panel("validation PSNR, dB", "validation", {"psnr": ""}),
    Panel(
        "validation LAB error",
        "validation",
        {"shadow": "in the shadow", "non_shadow": "outside", "all": "everywhere"},
    ),
    Panel("LAB error in the shadow added by another picture's latent", "validation", {"latent_worth": ""}),
    Panel(
        "shares of the latent's variance",
        "validation",
        {
            "latent_common": "common to all pictures",
            "latent_gap": "E(x, m) − E*(y₀, 0)",
            "latent_gap_shadow": "the same in the shadow",
        },
    ),
)
DETECTOR_PANELS = (
    Panel("cross-entropy", "train", {"cross_entropy": ""}, logarithmic=True),
    Panel("1 − overlap", "train", {"overlap": ""}, logarithmic=True),
    Panel("validation IoU", "validation", {"iou": "of all pixels", "iou_per_picture": "mean over pictures"}),
    Panel("validation balanced error, %", "validation", {"balanced_error_rate": ""}),
    Panel(
        "false negatives and false positives, %",
        "validation",
        {"false_negative_rate": "shadow not detected", "false_positive_rate": "detected without shadow"},
    ),
    Panel(
        "called shadow where there is none, %",
        "validation",
        {
            "in_light": "pictures without it",
            "dark_things": "dark things",
            "dark_surfaces": "dark surfaces",
            "standing_things": "standing things",
        },
    ),
)


def draw_curves(folder: Path, output: Path | None = None) -> Path:
    """Draw the losses and the figures of the validations; to curves.png in the folder by default."""
    from matplotlib.figure import Figure

    logged = read_log(folder)
    train = [line for line in logged if line["kind"] == "train"]
    if not train:
        raise ValueError(f"the run in {folder} has logged no step yet")
    train = drop_short_lines(train)
    lines = {
        "train": train,
        "stage two": [line for line in train if line["stage"] == 2],
        "validation": [line for line in logged if line["kind"] == "validation"],
    }
    figure = Figure(figsize=(10, 8), dpi=120, layout="constrained")
    panels = DETECTOR_PANELS if "overlap" in train[0] else REMOVER_PANELS
    for place, panel in zip(figure.subplots(3, 2).flatten(), panels, strict=True):
        for name in panel.figures:
            _curve(place, lines[panel.kind], name, panel.title)
        if len(panel.figures) > 1:
            place.legend(list(panel.figures.values()), frameon=False)
        if panel.logarithmic:
            place.set_yscale("log")
    output = output or folder / "curves.png"
    output.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=output.suffix.lstrip(".") or "png")
    write_whole(output, buffer.getvalue())
    return output


def drop_short_lines(train: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of a log without those that are means over far fewer images than usual.

    A run logs once more at its end, perhaps after a single step, whose loss is noise.
    """
    spans = [train[0]["images"], *(after["images"] - before["images"] for before, after in pairwise(train))]
    usual = median(spans)
    return [line for line, span in zip(train, spans, strict=True) if span >= usual / 2]


def _curve(panel: Any, lines: list[dict[str, Any]], name: str, title: str) -> None:
    # A few validations are drawn as points too: one alone would not show as a line.
    style = "o-" if len(lines) <= FEW else "-"
    # A log may have begun before a figure existed.
    values = [line.get(name, math.nan) for line in lines]
    panel.plot([line["images"] / 1000 for line in lines], values, style, linewidth=1.4)
    panel.set_title(title, fontsize=10)
    panel.set_xlabel("thousand images", fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
