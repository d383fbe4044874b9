"""onnxruntime, which needs no torch: it runs the graphs that `deshadow export` wrote beside a checkpoint."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deshadow.diffusion.arrays import Array, check_picture, like, pad_to_multiple, to_numpy
from deshadow.nn.config import Config, DetectorConfig
from deshadow.runtime.checkpoint import (
    check_detector_config,
    check_remover_config,
    locate,
    locate_tensors,
    read_checkpoint,
)


class OnnxBackend:
    """Runs the graphs of a remover; graphs and torch read the same weights file."""

    device = "cpu"

    def __init__(self, path_or_name: str | Path, threads: int = 0) -> None:
        """`threads` 0 takes every core."""
        path = locate(path_or_name)
        self.config = check_remover_config(path, read_checkpoint(path).config)
        self.sessions = _open_sessions(path, self.config, threads)

    def to_device(self, array: Array) -> Any:
        """The array in main memory, as float32."""
        return to_numpy(array)

    def encode(self, picture: Array, mask: Array) -> Array | None:
        """The guidance (B, C, H, W), or None where the model has no encoder."""
        if "encoder" not in self.sessions:
            return None
        return self._run("encoder", picture, picture=picture, mask=mask)

    def predict(self, noisy: Array, t: int, picture: Array, mask: Array, guidance: Array | None) -> Array:
        """The denoiser's output: what `config.predicts` names."""
        given = {"picture": picture, "mask": mask}
        inputs: dict[str, Any] = {name: given[name] for name in self.config.seen_channels}
        if guidance is not None:
            inputs["guidance"] = guidance
        return self._run("denoiser", noisy, noisy=noisy, t=np.full(len(noisy), t), **inputs)

    def _run(self, graph: str, pattern: Array, **inputs: Any) -> Array:
        feeds = {name: to_numpy(array) for name, array in inputs.items()}
        return like(pattern, _run(self.sessions[graph], feeds))


class OnnxDetector:
    """Runs the graph of a detector."""

    device = "cpu"

    def __init__(self, path_or_name: str | Path, threads: int = 0) -> None:
        """`threads` 0 takes every core."""
        path = locate(path_or_name)
        self.config = check_detector_config(path, read_checkpoint(path).config)
        (self.session,) = _open_sessions(path, self.config, threads).values()

    def __call__(self, picture: Array) -> Array:
        """The probability, in [0, 1]."""
        check_picture(picture)
        height, width = picture.shape[2:]
        padded = to_numpy(pad_to_multiple(picture, self.config.stride))
        return like(picture, _run(self.session, {"picture": padded})[:, :, :height, :width])


def graph_paths(path: Path, config: Config) -> dict[str, Path]:
    """The files of the graphs that belong beside a checkpoint, by the network's name."""
    if isinstance(config, DetectorConfig):
        return {"detector": path.with_suffix(".onnx")}
    names = ("denoiser",) if config.guidance == "none" else ("encoder", "denoiser")
    return {name: path.with_suffix(f".{name}.onnx") for name in names}


def fingerprint(path: Path) -> str:
    """A digest of a checkpoint's file name and of the places of its tensors, which its graphs point to."""
    return hashlib.sha256(json.dumps([path.name, locate_tensors(path)], sort_keys=True).encode()).hexdigest()


def _open_sessions(path: Path, config: Config, threads: int) -> dict[str, Any]:
    """The graphs of a checkpoint, ready to run."""
    # From 1.31 on onnxruntime reports its use to its makers as soon as it is imported, unless told not to.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors alone: it warns of every constant that it leaves unfolded
    graphs = graph_paths(path, config)
    with ThreadPoolExecutor() as pool:  # opening a graph keeps one core busy
        sessions = pool.map(lambda graph: _open_session(graph, path, options), graphs.values())
        return dict(zip(graphs, sessions, strict=True))


def _open_session(graph: Path, path: Path, options: Any) -> Any:
    """One graph of the checkpoint at `path`; ValueError says what is wrong with it."""
    import onnxruntime

    if not graph.exists():
        raise ValueError(f"{graph} is missing: run deshadow export {path}")
    try:
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        fits = session.get_modelmeta().custom_metadata_map.get("fingerprint") == fingerprint(path)
    except Exception as error:  # onnxruntime's errors have no common base of their own
        raise ValueError(f"{graph} cannot be run ({error}): run deshadow export {path}") from error
    if not fits:
        raise ValueError(f"{graph} was made for another checkpoint: run deshadow export {path}")
    return session


def _run(session: Any, feeds: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
    """The output of a graph; onnxruntime frees its working memory afterwards, which takes almost no time."""
    import onnxruntime

    options = onnxruntime.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    result: NDArray[np.float32] = session.run(None, feeds, options)[0]
    return result
