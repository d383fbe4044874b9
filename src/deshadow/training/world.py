"""The processes of a run: one, or several that torchrun started."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed

from deshadow.runtime.device import choose_device


@dataclass(frozen=True)
class World:
    """The place of this process among those of the run."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this is the one process that writes files and prints."""
        return self.rank == 0

    def mean(self, values: list[float]) -> list[float]:
        """The mean of each number over all processes."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(tensor)
        return [value / self.size for value in tensor.tolist()]

    def broadcast(self, values: list[float]) -> list[float]:
        """The numbers of the first process, in all processes."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.broadcast(tensor, 0)
        found: list[float] = tensor.tolist()
        return found


def local_device(device: str) -> torch.device:
    """The device that this process computes on: of several GPUs, the one with its local rank."""
    chosen = torch.device(choose_device(device))
    if chosen.type == "cuda" and chosen.index is None:
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return chosen


@contextmanager
def join_processes(device: str) -> Iterator[World]:
    """Join the processes that torchrun started, or stand alone; `device` is as for `choose_device`."""
    place = local_device(device)
    on_gpu = place.type == "cuda"
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if on_gpu:
        torch.cuda.set_device(place)
    if size == 1:
        yield World(0, 1, place)
        return
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield World(distributed.get_rank(), size, place)
    finally:
        distributed.destroy_process_group()
