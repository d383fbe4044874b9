"""Muon (Jordan et al., 2024): the momentum is made orthogonal, so that all directions get equal steps."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from deshadow.nn.detector import ShadowDetector
from deshadow.nn.unet import UNet

MOMENTUM = 0.95
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Of the Newton-Schulz iteration, five rounds of which bring all singular values near 1."""
ROUNDS = 5
LIKE_ADAM = 0.2
"""Root mean square of a step at rate 1, about that of AdamW, so that both can use the same rate."""


class Muon(torch.optim.AdamW):
    """Muon for the weights between a network's first and last layer, AdamW for everything else."""

    def __init__(self, model: nn.Module, *, lr: float, weight_decay: float, fused: bool) -> None:
        self.matrices = inner_matrices(model)
        chosen = set(self.matrices)
        others = [each for each in model.parameters() if each not in chosen]
        super().__init__(others, lr=lr, betas=(0.9, 0.99), weight_decay=weight_decay, fused=fused)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step of all parameters that have a gradient."""
        super().step(closure)
        rate, decay = (self.param_groups[0][name] for name in ("lr", "weight_decay"))
        moving: list[Tensor] = [each for each in self.matrices if each.grad is not None]
        for each in moving:
            if not self.state[each]:
                self.state[each]["exp_avg"] = torch.zeros_like(each)
        momenta = [self.state[each]["exp_avg"] for each in moving]
        gradients = [each.grad for each in moving if each.grad is not None]
        torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
        ahead = torch._foreach_lerp(gradients, momenta, MOMENTUM)
        steps = orthogonalise(ahead)
        torch._foreach_mul_(steps, [LIKE_ADAM * max(step.shape) ** 0.5 for step in steps])
        torch._foreach_mul_(moving, 1 - rate * decay)
        shaped = [step.reshape(each.shape) for step, each in zip(steps, moving, strict=True)]
        torch._foreach_add_(moving, shaped, alpha=-rate)


def orthogonalise(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Each tensor as a matrix of its first axis by all others, made orthogonal."""
    matrices = [each.flatten(1) for each in tensors]
    together: dict[torch.Size, list[int]] = {}
    for place, each in enumerate(matrices):
        together.setdefault(each.shape, []).append(place)
    for (height, width), places in together.items():
        stack = torch.stack([matrices[place] for place in places])
        found = orthogonalise_batch(stack.mT).mT if height > width else orthogonalise_batch(stack)
        for place, matrix in zip(places, found, strict=True):
            matrices[place] = matrix
    return matrices


def orthogonalise_batch(wide: Tensor) -> Tensor:
    """(N, h, w), h ≤ w → the same with singular values near 1, by a polynomial of matrix products."""
    a, b, c = COEFFICIENTS
    x = wide / (wide.norm(dim=(1, 2), keepdim=True) + 1e-7)
    x = x.bfloat16() if x.is_cuda else x
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    found: Tensor = x.to(wide.dtype)
    return found


def inner_matrices(model: nn.Module) -> list[Parameter]:
    """The weights of convolutions and linear layers, but not depthwise ones nor those at a network's ends."""
    networks = [part for part in model.modules() if isinstance(part, UNet | ShadowDetector)]
    ends = [end for each in networks for end in (each.stem, each.out, getattr(each, "bypass", None)) if end]
    outer = {each for end in ends for each in end.parameters()}
    return [each for each in model.parameters() if each.ndim > 1 and each.shape[1] > 1 and each not in outer]
