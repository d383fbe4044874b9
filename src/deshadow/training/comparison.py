"""Tab. 5: a teacher and its student side by side, with size, cost, time and figures."""

import json
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch

from deshadow.data.augment import Pairs
from deshadow.diffusion.choices import AnchorKind
from deshadow.nn.config import ModelConfig
from deshadow.nn.layout import Cost, model_cost
from deshadow.runtime import checkpoint
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.system.files import write_whole
from deshadow.training.digest import digest_code
from deshadow.training.figures import measure_figures
from deshadow.training.tables import DISTILLED, format_distilled
from deshadow.training.validation import remove_shadows

COMPARISON = "distilled.md"
SIDE = 256
"""Side of the picture whose cost is counted."""
TRIES = 5
"""Pictures whose time is measured."""


class Contender(NamedTuple):
    """A model in the comparison."""

    weights: str
    """A path, or the name of shipped weights."""
    steps: int


def compare(
    teacher: Contender, student: Contender, pairs: Pairs, out: Path, *, seed: int, anchor: AnchorKind
) -> Path:
    """Write distilled.json and distilled.md into a folder; returns the path of distilled.md."""
    device = pairs.picture.device
    found: dict[str, Any] = {
        "pictures": len(pairs.picture),
        "anchor": anchor,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "a processor",
        "code": [digest_code()],
    }
    results = {}
    for name, contender in (("teacher", teacher), ("student", student)):
        model = checkpoint.load_remover(contender.weights)
        backend = TorchBackend(model, str(device), "float32")
        results[name] = remove_shadows(backend, pairs, contender.steps, seed, anchor=anchor)
        found[name] = {
            "weights": Path(contender.weights).name,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "gflop": count_flop(model.config, contender.steps) / 1e9,
            "steps": contender.steps,
            "seconds": time_picture(backend, pairs, contender.steps, anchor),
            **measure_figures(results[name], pairs),
        }
    between = measure_figures(results["student"], pairs._replace(clean=results["teacher"]))
    found["between"] = between["regions"]
    write_whole(out / DISTILLED, json.dumps(found, indent=1, allow_nan=False).encode() + b"\n")
    path = out / COMPARISON
    write_whole(path, ("\n".join(format_distilled(found)) + "\n").encode())
    return path


def count_flop(config: ModelConfig, steps: int) -> int:
    """Floating-point operations for one picture of 256 × 256: the encoder once, all else in every step."""
    cost = model_cost(config, SIDE, SIDE)
    once = cost.pop("encoder", Cost())
    return once.flop + steps * sum(cost.values(), Cost()).flop


def time_picture(backend: TorchBackend, pairs: Pairs, steps: int, anchor: AnchorKind) -> float:
    """Median seconds for one picture."""
    times = []
    for k in range(TRIES + 1):
        one = Pairs(*(view[k % len(view)][None] for view in pairs))
        began = time.perf_counter()
        remove_shadows(backend, one, steps, 0, anchor=anchor).cpu()
        times.append(time.perf_counter() - began)
    return median(times[1:])  # the first one warms up
