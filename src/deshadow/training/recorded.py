"""Forward and backward pass as one CUDA graph, which starts many small kernels at once."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn

SETTLING = 3
"""Steps before one is recorded, in which kernels are compiled and chosen."""


class Gradients:
    """A callable that returns the losses of a batch and stores the gradients at the model's parameters."""

    def __init__(self, criterion: nn.Module, precision: Callable[[], AbstractContextManager[object]]) -> None:
        self.criterion, self.precision = criterion, precision

    def __call__(self, batch: tuple[Tensor, ...], pretraining: bool) -> tuple[Tensor, ...]:
        """The losses; the first one is differentiated."""
        with self.precision():
            losses: tuple[Tensor, ...] = self.criterion(batch, pretraining)
        losses[0].backward()  # type: ignore[no-untyped-call]
        return tuple(each.detach() for each in losses)


class RecordedGradients(Gradients):
    """Gradients on a GPU: recorded once for each stage and shape of batch, then replayed."""

    def __init__(self, criterion: nn.Module, precision: Callable[[], AbstractContextManager[object]]) -> None:
        super().__init__(criterion, precision)
        self.parameters = list(criterion.parameters())
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.kind: tuple[object, ...] = ()
        self.settled = 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batch: tuple[Tensor, ...], pretraining: bool) -> tuple[Tensor, ...]:
        """The losses; overwritten by the next call, as the gradients are."""
        kind = (pretraining, *(each.shape for each in batch))
        if kind != self.kind:
            self.kind, self.settled, self.graph = kind, 0, None
        if self.graph is None and self.settled == SETTLING:
            self.record(batch, pretraining)
        if self.graph is None:
            self.settled += 1
            return self.run_unrecorded(batch, pretraining)
        for place, value in zip(self.batch, batch, strict=True):
            place.copy_(value)
        self.graph.replay()
        for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
            parameter.grad = gradient
        return self.losses

    def run_unrecorded(self, batch: tuple[Tensor, ...], pretraining: bool) -> tuple[Tensor, ...]:
        """One call without recording, on the stream on which recordings are made."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            losses = super().__call__(batch, pretraining)
        torch.cuda.current_stream().wait_stream(self.stream)
        return losses

    def record(self, batch: tuple[Tensor, ...], pretraining: bool) -> None:
        """Record all kernels of a step, without running them."""
        self.batch = type(batch)._make(each.clone() for each in batch)  # type: ignore[attr-defined]
        for parameter in self.parameters:
            parameter.grad = None
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.losses = super().__call__(self.batch, pretraining)
        self.gradients = [parameter.grad for parameter in self.parameters]
