"""`deshadow export`: writes graphs for onnxruntime. It imports what it needs when it runs."""

from typing import Annotated

from cyclopts import Parameter


def export(
    checkpoint: Annotated[str, Parameter(help="A .safetensors file, or the name of shipped weights.")], /
) -> None:
    """Write the ONNX graphs of a checkpoint beside it, so that it runs without torch."""
    from deshadow.system.extras import require

    require("export", "torch", "onnx", "onnxscript")
    from deshadow.runtime.export import export as write_graphs

    for graph in write_graphs(checkpoint):
        print(graph)  # noqa: T201
