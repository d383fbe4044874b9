"""OpenVINO (extra `openvino`), which computes in bfloat16 where the processor does."""

import hashlib
import json
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deshadow.runtime.checkpoint import fingerprint, read_header
from deshadow.system.cache import load_cached, store_cached

# OpenVINO reports its use to its makers as soon as it is imported, if it finds its package for that.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
import openvino  # noqa: E402

# The first thread that reads a tensor initialises OpenVINO's bindings. A second thread that reads one
# meanwhile waits for it and holds the interpreter's lock, which the first one needs: both would wait forever.
_ = openvino.Tensor(openvino.Type.f32, [1]).data

_FINGERPRINT = ["framework", "fingerprint"]
_PRECISIONS = {openvino.Type.bf16: "bfloat16", openvino.Type.f16: "float16", openvino.Type.f32: "float32"}
# Pinned, the threads of two processes would share the first core and leave the others idle.
_OPTIONS: dict[str, object] = {"PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False}


class OpenvinoGraph:
    """A graph that OpenVINO runs on the processor.

    Compiling a graph takes four times as long as opening one that was compiled before, so compiled graphs are
    kept in the cache.
    """

    def __init__(self, graph: Path, path: Path, threads: int = 0) -> None:
        """`path` is the checkpoint that the graph points into. `threads` 0 takes every core."""
        core, options = openvino.Core(), dict(_OPTIONS)
        if threads:
            options["INFERENCE_NUM_THREADS"] = threads
        key = _make_key(graph, path)
        compiled = _import(core, load_cached(key), options)
        if compiled is not None:
            self.fingerprint: str | None = fingerprint(path)  # only graphs that have this one are stored
        else:
            model = core.read_model(graph)
            known = model.has_rt_info(_FINGERPRINT)
            self.fingerprint = model.get_rt_info(_FINGERPRINT).astype(str) if known else None
            compiled = core.compile_model(model, "CPU", options)
            # Another graph or checkpoint may have taken the place of those that the key was made of.
            if self.fingerprint == fingerprint(path) and _make_key(graph, path) == key:
                _store(key, compiled)
        self.compiled = compiled
        self.precision = _PRECISIONS[compiled.get_property("INFERENCE_PRECISION_HINT")]

    def __call__(self, feeds: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """The output. Each call has a request of its own, since threads cannot share one."""
        result: NDArray[np.float32] = self.compiled.create_infer_request().infer(feeds)[0]
        # The graph would keep hundreds of MiB for the next call. It refuses while another thread runs it.
        with suppress(RuntimeError):
            self.compiled.release_memory()
        if not np.isfinite(result).all():
            raise ValueError("OpenVINO computed numbers that are not finite: choose --runtime onnxruntime")
        return result


@cache
def computes_in_bfloat16() -> bool:
    """Whether OpenVINO computes in bfloat16 on this processor."""
    return bool(openvino.Core().get_property("CPU", "INFERENCE_PRECISION_HINT") == openvino.Type.bf16)


def _import(
    core: openvino.Core, stored: bytes | None, options: dict[str, object]
) -> openvino.CompiledModel | None:
    """A compiled graph from the cache; None if there is none, or OpenVINO refuses it."""
    if stored is None:
        return None
    try:
        return core.import_model(stored, "CPU", options)
    except Exception:  # OpenVINO's errors have no common base of their own
        return None


def _store(key: str, compiled: openvino.CompiledModel) -> None:
    """Keep a compiled graph, if that is possible."""
    with suppress(Exception):  # some graphs cannot be exported
        store_cached(key, lambda: compiled.export_model().getvalue())


def _make_key(graph: Path, path: Path) -> str:
    """A digest of all that a compiled graph depends on: OpenVINO, processor, options, graph and weights."""
    parts = [
        openvino.__version__,
        *_describe_processor(),
        _OPTIONS,
        hashlib.sha256(graph.read_bytes()).hexdigest(),
        fingerprint(path),
        read_header(path)[1].get("digest"),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def _describe_processor() -> tuple[str, ...]:
    """Machine, processor, precision and whatever OpenVINO makes use of."""
    core = openvino.Core()
    names = ("FULL_DEVICE_NAME", "INFERENCE_PRECISION_HINT", "OPTIMIZATION_CAPABILITIES")
    return platform.machine(), *(str(core.get_property("CPU", name)) for name in names)
