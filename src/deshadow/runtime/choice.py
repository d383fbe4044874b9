"""The choice of a runtime. It imports nothing heavy, for `--help` reads it."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from deshadow.runtime.device import choose_device
from deshadow.system.extras import install_command, require

GraphRuntime = Literal["onnxruntime", "openvino"]
"""What runs the ONNX graphs beside a checkpoint, on the processor."""
Chosen = Literal[GraphRuntime, "torch"]
Runtime = Literal["auto", Chosen]


def choose_runtime(runtime: Runtime, device: str, path: Path, has_graphs: bool) -> tuple[Chosen, str]:
    """The runtime of the checkpoint at `path`, and the device that it runs on.

    auto is torch on a GPU; on a processor it is OpenVINO, if it is installed and the processor computes in
    bfloat16, else onnxruntime; and torch again for a checkpoint without graphs.
    """
    if runtime not in get_args(Runtime):
        raise ValueError(f"no runtime {runtime!r}: choose {', '.join(get_args(Runtime))}")
    if runtime == "onnxruntime" or runtime == "openvino":
        if device not in ("auto", "cpu"):
            raise ValueError(f"{runtime} does not run on the device {device}: choose the device cpu")
        if runtime == "openvino":
            require("openvino", "openvino")
        return runtime, "cpu"
    has_torch = find_spec("torch") is not None
    if not has_torch and device not in ("auto", "cpu"):
        raise ValueError(f"the device {device} needs torch, which is not installed: use the device cpu")
    if runtime == "torch":
        require("train", "torch")
    device = choose_device(device) if has_torch else "cpu"
    if runtime == "auto" and device == "cpu" and has_graphs:
        return choose_graph_runtime(), device
    if has_torch:
        return "torch", device
    raise ValueError(
        f"torch is not installed, and {path} has no graphs beside it for onnxruntime: "
        f"{install_command('export')}, then deshadow export {path}"
    )


def choose_graph_runtime() -> GraphRuntime:
    """The faster runtime of graphs on this processor."""
    if find_spec("openvino") is None:
        return "onnxruntime"
    from deshadow.runtime.openvino_graph import computes_in_bfloat16

    return "openvino" if computes_in_bfloat16() else "onnxruntime"
