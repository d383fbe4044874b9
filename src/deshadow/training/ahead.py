"""Batches made ahead: on a GPU the next batch is made while a step runs, so that no step waits for data."""

from typing import Any

import torch
from torch import Tensor


class Batches:
    """Batches of a source, each made when it is wanted."""

    def take(self, source: Any, first: int, count: int) -> tuple[Tensor, ...]:
        """Images number first to first + count − 1 of `source`."""
        batch: tuple[Tensor, ...] = source.batch(first, count)
        return batch

    def prepare(self, source: Any, first: int, count: int) -> None:
        """Start making the batch that will be taken next; here, do nothing."""


class BatchesAhead(Batches):
    """Batches on a GPU, made on a CUDA stream of their own while a step runs on another."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.made: tuple[Any, int, int, tuple[Tensor, ...]] | None = None

    def take(self, source: Any, first: int, count: int) -> tuple[Tensor, ...]:
        """The prepared batch if it is the one that is asked for, else a new one."""
        current = torch.cuda.current_stream()
        if self.made is None or self.made[0] is not source or self.made[1:3] != (first, count):
            self.stream.wait_stream(current)
            self.prepare(source, first, count)
        assert self.made is not None
        batch, self.made = self.made[3], None
        current.wait_stream(self.stream)
        for each in batch:
            each.record_stream(current)  # so that its memory is not reused before it was read there
        return batch

    def prepare(self, source: Any, first: int, count: int) -> None:
        """Start the kernels that make a batch."""
        with torch.cuda.stream(self.stream):
            self.made = source, first, count, source.batch(first, count)
