"""The ONNX graphs that `deshadow export` wrote beside a checkpoint, opened by onnxruntime or OpenVINO."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deshadow.nn.config import Config, DetectorConfig
from deshadow.runtime.checkpoint import fingerprint
from deshadow.runtime.choice import GraphRuntime


class Graph(Protocol):
    """An open graph; any number of threads may run it."""

    fingerprint: str | None
    """The fingerprint of the checkpoint that the graph was made for."""
    precision: str
    """The floating-point type that it computes in, such as float32."""

    def __call__(self, feeds: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """The output for inputs by their names."""
        ...


def graph_paths(path: Path, config: Config) -> dict[str, Path]:
    """The files of the graphs that belong beside a checkpoint, by the network's name."""
    if isinstance(config, DetectorConfig):
        return {"detector": path.with_suffix(".onnx")}
    names = ("denoiser",) if config.guidance == "none" else ("encoder", "denoiser")
    return {name: path.with_suffix(f".{name}.onnx") for name in names}


def open_graphs(path: Path, config: Config, runtime: GraphRuntime, threads: int) -> dict[str, Graph]:
    """The graphs of a checkpoint, ready to run; ValueError says what is wrong with one."""
    graphs = graph_paths(path, config)
    with ThreadPoolExecutor() as pool:  # opening a graph keeps one core busy
        opened = pool.map(lambda graph: _open_graph(graph, path, runtime, threads), graphs.values())
        return dict(zip(graphs, opened, strict=True))


def _open_graph(graph: Path, path: Path, runtime: GraphRuntime, threads: int) -> Graph:
    """One graph of the checkpoint at `path`."""
    if not graph.exists():
        raise ValueError(f"{graph} is missing: run deshadow export {path}")
    try:
        opened = _start(graph, path, runtime, threads)
        fits = opened.fingerprint == fingerprint(path)
    except Exception as error:  # the errors of the runtimes have no common base of their own
        reason = " ".join(str(error).split())  # OpenVINO writes several lines
        raise ValueError(f"{graph} cannot be run ({reason}): run deshadow export {path}") from error
    if not fits:
        raise ValueError(f"{graph} was made for another checkpoint: run deshadow export {path}")
    return opened


def _start(graph: Path, path: Path, runtime: GraphRuntime, threads: int) -> Graph:
    if runtime == "openvino":
        from deshadow.runtime.openvino_graph import OpenvinoGraph

        return OpenvinoGraph(graph, path, threads)
    from deshadow.runtime.onnxruntime_graph import OnnxruntimeGraph

    return OnnxruntimeGraph(graph, threads)
