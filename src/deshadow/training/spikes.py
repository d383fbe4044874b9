"""Spikes: features at one spot of a picture that outweigh all others, and a loss that keeps them small."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from deshadow.nn.unet import UNet, UNetBlock

SPIKE = 20.0
"""A feature is a spike beyond this multiple of the root mean square of all features of its block."""


@contextmanager
def watch_finest_blocks(network: UNet, *, wanted: bool) -> Iterator[list[Tensor]]:
    """A list that gets the outputs (B, C, h, w) of the blocks at the finest level; empty unless wanted."""
    seen: list[Tensor] = []
    parts = network.modules() if wanted else ()
    blocks = [each for each in parts if isinstance(each, UNetBlock) and each.level == 0]
    hooks = [each.register_forward_hook(lambda _, __, out: seen.append(out)) for each in blocks]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


class SpikeLoss(nn.Module):
    """(B, C, h, w) → a number: many small operations, which are worth compiling.

    It falls when spikes shrink, and not when all other features grow.
    """

    def forward(self, features: Tensor) -> Tensor:
        """By how much features exceed the limit, as logarithms: a sum over each picture, then the mean."""
        wide = features.float()
        limit = SPIKE * wide.square().mean(dim=(1, 2, 3), keepdim=True).clamp(min=1e-12).sqrt().detach()
        excess: Tensor = (wide.abs() / limit).clamp(min=1).log().sum() / len(wide)
        return excess
