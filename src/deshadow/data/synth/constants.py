"""Tables of numbers on the device that synthesis runs on."""

from functools import lru_cache

import torch
from torch import Tensor

Table = tuple[float, ...] | tuple[tuple[float, ...], ...]


def constant(values: Table, device: torch.device) -> Tensor:
    """Numbers as a float32 tensor, sent to the device once: each transfer makes a GPU wait."""
    # A compiled graph keeps its own constants, and the compiler does not support caches.
    return _send(values, device) if torch.compiler.is_compiling() else _send_once(values, device)


def _send(values: Table, device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.float32, device=device)


_send_once = lru_cache(64)(_send)
