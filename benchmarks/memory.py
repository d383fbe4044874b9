"""How much memory a training step of stage two keeps for its backward pass, for each image of a batch.

python benchmarks/memory.py [PRESET…] [--size 256]

Counts what torch saves of one image in bfloat16 on the CPU: an upper bound for a GPU, whose kernels
(nn/fused.py) save less. Weights, gradients and optimizer, which do not grow with the batch, come on top.
"""

import argparse
from copy import deepcopy

import torch
from torch import Tensor

from deshadow.nn.config import PRESETS, find_preset
from deshadow.nn.lfg import LFGDiffusion
from deshadow.training.objectives import Batch, Criterion
from deshadow.training.options import InvariantTarget, Objective
from deshadow.training.recipes import RECIPES

LIGHT = RECIPES["light"]
TARGETS: tuple[InvariantTarget, ...] = ("frozen", "joint")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("presets", nargs="*", default=list(PRESETS))
    parser.add_argument("--size", type=int, default=256)
    chosen = parser.parse_args()
    print("| preset | frozen target, GiB an image | joint target, GiB an image |\n|---|---|---|")
    for preset in chosen.presets:
        found = [measure(preset, target, chosen.size) for target in TARGETS]
        print(f"| `{preset}` | {' | '.join(f'{each:.2f}' for each in found)} |", flush=True)


def measure(preset: str, target: InvariantTarget, size: int) -> float:
    """GiB that the losses of one image keep."""
    model = LFGDiffusion(find_preset(preset))
    assert model.encoder is not None
    frozen = deepcopy(model.encoder).requires_grad_(requires_grad=False)
    criterion = Criterion(
        model, Objective(lab=LIGHT["lab"], detail=LIGHT["detail"], invariant_target=target), frozen
    )
    views = torch.rand(3, 1, 3, size, size)
    batch = Batch(views[0], views[0, :, :1], views[1], views[2], torch.tensor([500]), torch.tensor([False]))
    weights = {tensor.untyped_storage().data_ptr() for tensor in criterion.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in weights:
            kept[place] = tensor  # so that its memory is not given to another
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16),
    ):
        criterion(batch)
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values()) / 2**30


if __name__ == "__main__":
    main()
