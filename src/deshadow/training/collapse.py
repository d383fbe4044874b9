"""Whether the output of a model depends on y_t: the mean space of Fig. 6, and a direct measure."""

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deshadow.data.augment import Pairs
from deshadow.data.rng import Draws
from deshadow.diffusion.prediction import diffuse
from deshadow.diffusion.sampling import ddim
from deshadow.diffusion.schedule import Schedule
from deshadow.runtime.backend import condition
from deshadow.runtime.checkpoint import load_remover
from deshadow.runtime.device import choose_device
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.system.files import write_whole
from deshadow.training.batches import dilate_masks, load_held_out_pairs
from deshadow.training.options import DataOptions

CHUNK = 16
TRUTH = "knowing the true picture"

Denoise = Callable[[Tensor, int], Tensor]


def measure_collapse(
    weights: Mapping[str, str], pairs: Pairs, *, count: int = 32, steps: int = 10, seed: int = 0
) -> dict[str, Any]:
    """The figures of each model by its title, after those of a denoiser that knows the true picture.

    `points`: t, mean of y_t, mean of the y_{t−1} that follows, for every step from noise to each picture;
    `dependence`: t, and by how many levels of 255 the estimate of the clean picture moves when y_t comes
    from another picture. A model that ignores y_t (Eq. 13) has 0 there.
    """
    if count < 2:
        raise ValueError("the collapse picture compares pictures: --count must be 2 or more")
    pairs, device = Pairs(*(view[:count] for view in pairs)), str(pairs.picture.device)
    if len(pairs.picture) < 2:
        raise ValueError("the collapse picture compares pictures, but this split has only one")
    models = {title: load_remover(path).to(device) for title, path in weights.items()}
    schedule = next(iter(models.values())).config.schedule
    found = {
        TRUTH: measure_dependence(lambda chunk: lambda *_: clean_of(chunk), schedule, pairs, steps, seed)
    }
    for title, model in models.items():
        backend = TorchBackend(model, device, "float32")

        def conditioned(chunk: Pairs, backend: TorchBackend = backend) -> Denoise:
            picture = chunk.picture.float() / 127.5 - 1
            return condition(backend, picture, dilate_masks(chunk.mask))

        found[title] = measure_dependence(conditioned, model.config.schedule, pairs, steps, seed)
    return {"pictures": len(pairs.picture), "steps": steps, "models": found}


def measure_dependence(
    conditioned: Callable[[Pairs], Denoise], schedule: Schedule, pairs: Pairs, steps: int, seed: int
) -> dict[str, Any]:
    """The figures of one denoiser."""
    times = schedule.times(steps)
    points: list[Tensor] = []
    moved = torch.zeros(steps, dtype=torch.float64)
    parts = torch.arange(len(pairs.picture)).tensor_split(-(-len(pairs.picture) // CHUNK))
    for part in parts:  # of 2 or more pictures each
        chunk = Pairs(*(view[part.to(view.device)] for view in pairs))
        clean, denoise = clean_of(chunk), conditioned(chunk)
        noise = Draws(seed, part.to(clean.device)).normal("collapse", *clean.shape[1:])
        states = [noise, *ddim(denoise, noise, schedule, times)]
        means = torch.stack([state.mean(dim=(1, 2, 3)).cpu() for state in states])
        t = torch.tensor(times[:-1])[:, None].expand_as(means[1:])
        points.append(torch.stack([t, means[:-1], means[1:]], dim=-1).flatten(0, 1))
        for k, time in enumerate(times[:-1]):
            noisy = diffuse(clean, noise, *schedule.level(time))
            # Values that no picture can have do not count.
            own, other = (denoise(each, time).clamp(-1, 1) for each in (noisy, noisy.roll(1, dims=0)))
            moved[k] += 127.5 * float((own - other).abs().mean(dim=(1, 2, 3)).sum())
    table = torch.cat(points).double().numpy()
    off = table[:, 2] - table[:, 1]
    return {
        "points": table.round(6).tolist(),
        "dependence": list(zip(times, (moved / len(pairs.picture)).tolist(), strict=False)),
        "correlation": float(np.corrcoef(table[:, 1], table[:, 2])[0, 1]),
        "distance": float(np.abs(off).mean()),
    }


def clean_of(pairs: Pairs) -> Tensor:
    """(N, 3, H, W) in [-1, 1]: the shadow-free pictures."""
    return pairs.clean.float() / 127.5 - 1


def collapse_to_files(
    weights: Mapping[str, str],
    data: Path,
    output: Path,
    *,
    split: str | None = None,
    count: int = 32,
    size: int = 256,
    steps: int = 10,
    seed: int = 0,
    device: str = "auto",
) -> tuple[Path, Path]:
    """The picture of two checkpoints on a data set, and its figures as JSON beside it."""
    if output.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{output} must be a picture: name a .png, .svg or .pdf")
    inputs = DataOptions(data=data, val_split=split, size=size)
    place = torch.device(choose_device(device))
    pairs = load_held_out_pairs(inputs, count, place)
    found = measure_collapse(weights, pairs, count=count, steps=steps, seed=seed)
    figures = output.with_suffix(".json")
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(figures, json.dumps(found, allow_nan=False).encode() + b"\n")
    return draw_collapse(found, output), figures


def draw_collapse(found: Mapping[str, Any], output: Path) -> Path:
    """Fig. 6: for each denoiser a panel with points and diagonal; then how much each depends on y_t."""
    from matplotlib.figure import Figure

    models = found["models"]
    figure = Figure(figsize=(3.6 * (len(models) + 1), 3.9), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(models) + 1).flatten()
    points = {title: np.asarray(model["points"]) for title, model in models.items()}
    low = min(each[:, 1:].min() for each in points.values())
    high = max(each[:, 1:].max() for each in points.values())
    edge = 0.05 * (high - low)
    for panel, (title, each) in zip(panels, points.items(), strict=False):
        panel.axline((low, low), (high, high), color="0.5", linestyle="--", linewidth=1, zorder=0)
        if title != TRUTH:
            panel.scatter(*points[TRUTH][:, 1:].T, color="0.85", s=24, zorder=0)
        dots = panel.scatter(each[:, 1], each[:, 2], c=each[:, 0], cmap="viridis", s=10, alpha=0.8)
        panel.set(xlim=(low - edge, high + edge), ylim=(low - edge, high + edge), aspect="equal")
        panel.set_xlabel("mean of $y_t$")
        panel.locator_params(nbins=6)
        name = title if title != TRUTH else f"{title} (grey in the others)"
        panel.set_title(f"{name}\noff the diagonal by {models[title]['distance']:.3f}", fontsize=9)
    panels[0].set_ylabel("mean of the predicted $y_{t-1}$")
    figure.colorbar(dots, ax=panels[len(models) - 1], label="t", shrink=0.8)
    for title, model in models.items():
        if title != TRUTH:
            panels[-1].plot(*zip(*model["dependence"], strict=True), marker=".", label=title)
    panels[-1].set(ylim=(0, None), xlabel="t", box_aspect=1)
    panels[-1].set_title("how much the estimate moves\nwith another $y_t$, of 255", fontsize=9)
    panels[-1].legend(frameon=False, fontsize=8)
    about = f"{found['pictures']} pictures, {found['steps']} steps from noise to each"
    figure.supxlabel(about, fontsize=8, color="0.4")
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=output.suffix.lstrip(".") or "png")
    write_whole(output, buffer.getvalue())
    return output
