"""The best runtime for a checkpoint: torch on a GPU, else onnxruntime if there are graphs, else torch."""

from importlib.util import find_spec
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
from deshadow.runtime.device import choose_device
from deshadow.runtime.onnx_backend import OnnxBackend, OnnxDetector, graph_paths


def open_backend(path_or_name: str | Path, device: str = "auto", threads: int = 0) -> Backend:
    """A remover on the best runtime.

    `device` is auto, cpu, or any device of torch (cuda, cuda:1, mps). `threads` is for onnxruntime; 0 takes
    every core.
    """
    path = locate(path_or_name)
    config = check_remover_config(path, read_header(path)[0])
    device = _choose(path, config, device)
    if device == "onnxruntime":
        return OnnxBackend(path, threads)
    from deshadow.runtime.torch_backend import TorchBackend

    return TorchBackend(load_remover(path), device)


def open_detector(path_or_name: str | Path, device: str = "auto", threads: int = 0) -> Detector:
    """A detector on the best runtime; `device` and `threads` as in `open_backend`."""
    path = locate(path_or_name)
    config = check_detector_config(path, read_header(path)[0])
    device = _choose(path, config, device)
    if device == "onnxruntime":
        return OnnxDetector(path, threads)
    from deshadow.runtime.torch_backend import TorchDetector

    return TorchDetector(load_detector(path), device)


def _choose(path: Path, config: Config, device: str) -> str:
    """onnxruntime, or the device of torch that a checkpoint is to run on."""
    has_torch = find_spec("torch") is not None
    if not has_torch and device not in ("auto", "cpu"):
        raise ValueError(f"the device {device} needs torch, which is not installed: use the device cpu")
    device = choose_device(device) if has_torch else "cpu"
    if device == "cpu" and all(graph.exists() for graph in graph_paths(path, config).values()):
        return "onnxruntime"
    if has_torch:
        return device
    raise ValueError(
        f"torch is not installed, and {path} has no graphs beside it for onnxruntime: "
        f"pip install 'deshadow[export]', then deshadow export {path}"
    )
