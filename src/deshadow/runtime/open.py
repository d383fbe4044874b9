"""Opens a checkpoint on the runtime that was chosen, or on the best one."""

from pathlib import Path

from deshadow.nn.config import Config
from deshadow.runtime.backend import Backend, Detector
from deshadow.runtime.checkpoint import (
    check_detector_config,
    check_remover_config,
    load_detector,
    load_remover,
    locate,
    read_header,
)
from deshadow.runtime.choice import Chosen, Runtime, choose_runtime
from deshadow.runtime.graphs import graph_paths
from deshadow.runtime.onnx_backend import OnnxBackend, OnnxDetector


def open_backend(
    path_or_name: str | Path, device: str = "auto", threads: int = 0, runtime: Runtime = "auto"
) -> Backend:
    """A remover.

    `device` is auto, cpu, or any device of torch (cuda, cuda:1, mps). `threads` is for onnxruntime and
    OpenVINO; 0 takes every core. `runtime` auto is the best one: see `choose_runtime`.
    """
    path = locate(path_or_name)
    config = check_remover_config(path, read_header(path)[0])
    chosen, device = _choose(path, config, runtime, device)
    if chosen != "torch":
        return OnnxBackend(path, threads, chosen)
    from deshadow.runtime.torch_backend import TorchBackend

    return TorchBackend(load_remover(path), device)


def open_detector(
    path_or_name: str | Path, device: str = "auto", threads: int = 0, runtime: Runtime = "auto"
) -> Detector:
    """A detector; the arguments are those of `open_backend`."""
    path = locate(path_or_name)
    config = check_detector_config(path, read_header(path)[0])
    chosen, device = _choose(path, config, runtime, device)
    if chosen != "torch":
        return OnnxDetector(path, threads, chosen)
    from deshadow.runtime.torch_backend import TorchDetector

    return TorchDetector(load_detector(path), device)


def _choose(path: Path, config: Config, runtime: Runtime, device: str) -> tuple[Chosen, str]:
    has_graphs = all(graph.exists() for graph in graph_paths(path, config).values())
    return choose_runtime(runtime, device, path, has_graphs)
