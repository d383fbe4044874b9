"""CUDA graphs: the hundreds of small kernels of a network are recorded once and launched together."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import torch
from torch import Tensor

Shapes = tuple[torch.Size | None, ...]


class Recording(NamedTuple):
    """A graph with the tensors that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor | None, ...]
    output: Tensor


class Replay:
    """A function of tensors on a GPU that is recorded once for each set of shapes, then replayed.

    Recording takes as long as a few calls and keeps memory, so only the last few shapes are kept.
    """

    KEPT = 8

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.recordings: OrderedDict[Shapes, Recording] = OrderedDict()
        self.lock = Lock()

    def __call__(self, *inputs: Tensor | None) -> Tensor:
        """The function's result, in newly allocated memory."""
        shapes = tuple(None if each is None else each.shape for each in inputs)
        with self.lock:
            if shapes not in self.recordings:
                self.recordings[shapes] = record(self.function, inputs)
                if len(self.recordings) > self.KEPT:
                    self.recordings.popitem(last=False)
            self.recordings.move_to_end(shapes)
            recording = self.recordings[shapes]
            for place, value in zip(recording.inputs, inputs, strict=True):
                if place is not None and value is not None:
                    place.copy_(value)
            recording.graph.replay()
            return recording.output.clone()


def record(function: Callable[..., Any], inputs: tuple[Tensor | None, ...]) -> Recording:
    """Run a function until its kernels are chosen, then record it."""
    places = tuple(None if each is None else each.clone() for each in inputs)
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            function(*places)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = function(*places)
    return Recording(graph, places, output)
