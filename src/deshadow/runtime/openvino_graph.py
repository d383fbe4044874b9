"""OpenVINO (extra `openvino`), which computes in bfloat16 where the processor does."""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# OpenVINO reports its use to its makers as soon as it is imported, if it finds its package for that.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
import openvino  # noqa: E402

_FINGERPRINT = ["framework", "fingerprint"]
_PRECISIONS = {openvino.Type.bf16: "bfloat16", openvino.Type.f16: "float16", openvino.Type.f32: "float32"}


class OpenvinoGraph:
    """A graph that OpenVINO runs on the processor."""

    def __init__(self, graph: Path, threads: int = 0) -> None:
        """`threads` 0 takes every core."""
        core = openvino.Core()
        # Pinned, the threads of two processes would share the first core and leave the others idle.
        options: dict[str, object] = {"PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False}
        if threads:
            options["INFERENCE_NUM_THREADS"] = threads
        model = core.read_model(graph)
        known = model.has_rt_info(_FINGERPRINT)
        self.fingerprint = model.get_rt_info(_FINGERPRINT).astype(str) if known else None
        self.compiled = core.compile_model(model, "CPU", options)
        self.precision = _PRECISIONS[self.compiled.get_property("INFERENCE_PRECISION_HINT")]

    def __call__(self, feeds: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """The output. Each call has a request of its own, since threads cannot share one."""
        result: NDArray[np.float32] = self.compiled.create_infer_request().infer(feeds)[0]
        return result
