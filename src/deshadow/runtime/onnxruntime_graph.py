"""onnxruntime, which is part of the base install."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# From 1.31 on onnxruntime reports its use to its makers as soon as it is imported, unless told not to.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime


class OnnxruntimeGraph:
    """A graph that onnxruntime runs."""

    precision = "float32"

    def __init__(self, graph: Path, threads: int = 0) -> None:
        """`threads` 0 takes every core."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # A thread that spins while it waits takes a core from whatever else runs, such as the next photo.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3  # errors alone: it warns of every constant that it leaves unfolded
        self.session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self.fingerprint = self.session.get_modelmeta().custom_metadata_map.get("fingerprint")

    def __call__(self, feeds: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """The output; onnxruntime frees its working memory afterwards, which takes almost no time."""
        options = onnxruntime.RunOptions()
        options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        result: NDArray[np.float32] = self.session.run(None, feeds, options)[0]
        return result
