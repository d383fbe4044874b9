"""The curves of a run, drawn from its log: the three of the paper's appendix B, and the latent's."""

import io
from pathlib import Path
from typing import Any

from deshadow.files import write_whole
from deshadow.training.journal import read_log


def draw_curves(folder: Path, output: Path | None = None) -> Path:
    """Draw both losses, the validation's figures and the latent's; to curves.png in the folder by default."""
    from matplotlib.figure import Figure

    lines = read_log(folder)
    train = [line for line in lines if line["kind"] == "train"]
    checks = [line for line in lines if line["kind"] == "validation"]
    if not train:
        raise ValueError(f"the run in {folder} has logged no step yet")
    figure = Figure(figsize=(10, 8), dpi=120, layout="constrained")
    panels = figure.subplots(3, 2).flatten()
    _curve(panels[0], train, "denoiser", "denoiser loss")
    _curve(panels[1], [line for line in train if line["stage"] == 2], "guide", "encoder loss")
    _curve(panels[2], checks, "psnr", "validation PSNR, dB")
    for region in ("shadow", "non_shadow", "all"):
        _curve(panels[3], checks, region, "validation LAB error")
    panels[3].legend(["in the shadow", "outside", "everywhere"], frameon=False)
    _curve(panels[4], checks, "latent_deviation", "latent: spatial deviation")
    _curve(panels[5], checks, "latent_worth", "latent: error without it, minus with it")
    for panel in panels[:2]:
        panel.set_yscale("log")
    output = output or folder / "curves.png"
    output.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=output.suffix.lstrip(".") or "png")
    write_whole(output, buffer.getvalue())
    return output


def _curve(panel: Any, lines: list[dict[str, Any]], name: str, title: str) -> None:
    panel.plot([line["images"] / 1000 for line in lines], [line[name] for line in lines], linewidth=1.4)
    panel.set_title(title, fontsize=10)
    panel.set_xlabel("thousand images", fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
