"""The runtimes of ONNX graphs, which need no torch."""

from pathlib import Path
from typing import Any

import numpy as np

from deshadow.diffusion.arrays import Array, check_picture, like, pad_to_multiple, to_numpy
from deshadow.runtime.checkpoint import (
    check_detector_config,
    check_remover_config,
    locate,
    read_checkpoint,
)
from deshadow.runtime.choice import GraphRuntime
from deshadow.runtime.graphs import open_graphs

_TINY = 16
"""OpenVINO gets pictures up to this height and width padded to twice of it. In bfloat16 a graph that is first
given 16 × 16 pixels computes nothing but NaN for all larger pictures after that (OpenVINO 2026.4)."""


class OnnxBackend:
    """Runs the graphs of a remover; graphs and torch read the same weights file."""

    device = "cpu"

    def __init__(
        self, path_or_name: str | Path, threads: int = 0, runtime: GraphRuntime = "onnxruntime"
    ) -> None:
        """`threads` 0 takes every core."""
        path = locate(path_or_name)
        self.config = check_remover_config(path, read_checkpoint(path).config)
        self.runtime = runtime
        self.graphs = open_graphs(path, self.config, runtime, threads)

    @property
    def precision(self) -> str:
        """The floating-point type that the networks compute in."""
        return self.graphs["denoiser"].precision

    def to_device(self, array: Array) -> Any:
        """The array in main memory, as float32."""
        return to_numpy(array)

    def encode(self, picture: Array, mask: Array) -> Array | None:
        """The guidance (B, C, H, W), or None where the model has no encoder."""
        if "encoder" not in self.graphs:
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
        height, width = pattern.shape[2:]
        if self.runtime == "openvino" and max(height, width) <= _TINY:
            inputs = {
                name: pad_to_multiple(array, 2 * _TINY) if array.ndim == 4 else array
                for name, array in inputs.items()
            }
        feeds = {name: to_numpy(array) for name, array in inputs.items()}
        return like(pattern, self.graphs[graph](feeds)[:, :, :height, :width])


class OnnxDetector:
    """Runs the graph of a detector."""

    device = "cpu"

    def __init__(
        self, path_or_name: str | Path, threads: int = 0, runtime: GraphRuntime = "onnxruntime"
    ) -> None:
        """`threads` 0 takes every core."""
        path = locate(path_or_name)
        self.config = check_detector_config(path, read_checkpoint(path).config)
        self.runtime = runtime
        (self.graph,) = open_graphs(path, self.config, runtime, threads).values()

    @property
    def precision(self) -> str:
        """The floating-point type that the network computes in."""
        return self.graph.precision

    def __call__(self, picture: Array) -> Array:
        """The probability, in [0, 1]."""
        check_picture(picture)
        height, width = picture.shape[2:]
        padded = to_numpy(pad_to_multiple(picture, self.config.stride))
        return like(picture, self.graph({"picture": padded})[:, :, :height, :width])
