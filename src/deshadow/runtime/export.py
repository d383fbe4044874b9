"""Export to ONNX (extra `export`): graphs without weights, which point into the checkpoint beside them."""

import copy
import logging
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnxscript import optimizer
from torch import Tensor, nn
from torch.export import Dim

from deshadow.nn.blocks import Attention
from deshadow.nn.config import DetectorConfig
from deshadow.nn.detector import ShadowDetector
from deshadow.nn.lfg import LFGDiffusion
from deshadow.runtime.checkpoint import (
    Place,
    fingerprint,
    load_detector,
    load_remover,
    locate,
    locate_tensors,
    read_header,
)
from deshadow.runtime.graphs import graph_paths
from deshadow.runtime.quantise import SCALE
from deshadow.system.files import write_atomically

OPSET = 21
FOLDED = 16
"""Most elements of a constant that the optimizer folds: sizes and indices, never weights."""
DTYPES = {"F16": onnx.TensorProto.FLOAT16, "F32": onnx.TensorProto.FLOAT, "I8": onnx.TensorProto.INT8}


def export(path_or_name: str | Path) -> list[Path]:
    """Write the graphs of a checkpoint beside it, for any batch and any size that the network takes."""
    path = locate(path_or_name)
    config, _ = read_header(path)
    written = graph_paths(path, config)
    if isinstance(config, DetectorConfig):
        protos = {"detector": trace_detector(load_detector(path))}
    else:
        model = load_remover(path)
        protos = {
            name: trace_encoder(model) if name == "encoder" else trace_denoiser(model) for name in written
        }
    for name, graph in written.items():
        proto = protos[name]
        replace_norms(proto)
        point_into(proto, path.name, locate_tensors(path))
        onnx.helper.set_model_props(proto, {"fingerprint": fingerprint(path)})
        with write_atomically(graph) as beside:
            onnx.save_model(proto, beside)
    return list(written.values())


class EncoderAlone(nn.Module):
    """The encoder without the denoiser, under the name that its tensors have in the checkpoint."""

    def __init__(self, model: LFGDiffusion) -> None:
        super().__init__()
        self.encoder = model.encoder

    def forward(self, picture: Tensor, mask: Tensor) -> Tensor:
        """The guidance."""
        assert self.encoder is not None
        guidance: Tensor = self.encoder(picture, mask)
        return guidance


def trace_encoder(model: LFGDiffusion) -> onnx.ModelProto:
    """(picture, mask) → guidance."""
    return trace(EncoderAlone(model), model.config.stride, {"picture": 3, "mask": 1}, "guidance")


def trace_denoiser(model: LFGDiffusion) -> onnx.ModelProto:
    """(noisy, t, the conditions that it sees, the guidance if there is one) → its prediction."""
    channels = {"noisy": 3, "t": 0, **model.config.seen_channels}
    if model.encoder is not None:
        channels["guidance"] = model.config.guidance_channels
    return trace(model, model.config.stride, channels, "output")


class Probability(ShadowDetector):
    """A detector whose output are probabilities."""

    def forward(self, picture: Tensor) -> Tensor:
        """The probability."""
        return torch.sigmoid(super().forward(picture))


def trace_detector(model: ShadowDetector) -> onnx.ModelProto:
    """Picture → probability."""
    model = copy.copy(model)
    model.__class__ = Probability
    return trace(model, model.config.stride, {"picture": 3}, "probability")


class FusedAttention(Attention):
    """Attention as one node of the graph: the runtimes never hold the scores of all pairs of positions."""

    def attend(self, qkv: Tensor) -> Tensor:
        """(B, N, 3 C), the queries, keys and values of N positions → (B, N, C)."""
        q, k, v = qkv.chunk(3, dim=2)
        found: Tensor = torch.onnx.ops.symbolic(
            "com.microsoft::MultiHeadAttention",
            (q, k, v),
            {"num_heads": self.heads},
            dtype=q.dtype,
            shape=q.shape,
            version=1,
        )
        return found


def trace(module: nn.Module, stride: int, channels: Mapping[str, int], output: str) -> onnx.ModelProto:
    """The graph of a module whose inputs are pictures of these channels (0: one number per picture).

    Its weights are random here, so that the optimizer removes none as zero and merges none as equal.
    """
    module = copy.deepcopy(module).eval()
    for part in module.modules():
        if isinstance(part, Attention):
            part.__class__ = FusedAttention
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    side = 2 * stride  # any size: batch, rows and columns stay dynamic
    batch, rows, columns = Dim("batch"), Dim("rows"), Dim("columns")
    inputs = {name: torch.ones(2, n, side, side) if n else torch.ones(2) for name, n in channels.items()}
    shapes = {
        name: {0: batch, 2: stride * rows, 3: stride * columns} if n else {0: batch}
        for name, n in channels.items()
    }
    with warnings.catch_warnings():
        # The exporter warns of deprecations, of equal axes, and that torchvision is missing.
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        program = torch.onnx.export(
            module,
            kwargs=inputs,
            dynamo=True,
            dynamic_shapes=shapes,
            input_names=list(inputs),
            output_names=[output],
            opset_version=OPSET,
            optimize=False,  # it would fold small weights, too
            verbose=False,
        )
    assert program is not None
    folded: onnx.ModelProto = optimizer.optimize(
        program.model_proto, input_size_limit=FOLDED, output_size_limit=FOLDED
    )
    assert tensor_names(program.model_proto) & set(module.state_dict()) <= tensor_names(folded)
    return folded


def tensor_names(model: onnx.ModelProto) -> set[str]:
    """The names of a graph's tensors."""
    return {tensor.name for tensor in model.graph.initializer}


def replace_norms(model: onnx.ModelProto) -> None:
    """Replace group norms by nodes that onnxruntime has kernels for.

    It would otherwise inline each of them whenever it opens the graph, which took most of the time to start.
    """
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    shared: dict[str, NDArray[Any]] = {}
    for node in model.graph.node:
        if node.op_type == "GroupNormalization":
            steps, constants = _group_normalization(node)
            nodes += steps
            shared |= constants
            for each in node.input[1:]:  # the same numbers, in a shape that broadcasts over pictures
                tensors[each].dims[:] = [*tensors[each].dims[:1], 1, 1]
        else:
            nodes.append(copy.deepcopy(node))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(each, name) for name, each in shared.items())


def _group_normalization(node: onnx.NodeProto) -> tuple[list[onnx.NodeProto], dict[str, NDArray[Any]]]:
    """The nodes, and constants by name: instance norm of pictures whose groups are flattened to channels."""
    picture, scale, shift = node.input
    given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    groups, name = given["num_groups"], node.output[0]
    grouped, ones, zeros = (f"{part}_{groups}" for part in ("grouped", "ones", "zeros"))
    step = onnx.helper.make_node
    steps = [
        step("Shape", [picture], [f"{name}_shape"]),
        step("Reshape", [picture, grouped], [f"{name}_groups"]),
        step(
            "InstanceNormalization",
            [f"{name}_groups", ones, zeros],
            [f"{name}_even"],
            epsilon=given["epsilon"],
        ),
        step("Reshape", [f"{name}_even", f"{name}_shape"], [f"{name}_normal"]),
        step("Mul", [f"{name}_normal", scale], [f"{name}_scaled"]),
        step("Add", [f"{name}_scaled", shift], [name]),
    ]
    return steps, {
        grouped: np.array([0, groups, -1]),
        ones: np.ones(groups, np.float32),
        zeros: np.zeros(groups, np.float32),
    }


def point_into(model: onnx.ModelProto, location: str, tensors: Mapping[str, Place]) -> None:
    """Replace the weights of a graph by their places in the checkpoint, and drop the tracer's metadata."""
    graph = model.graph
    # Other shapes that the tracer inferred stay: without them onnxruntime opens a graph half as fast.
    known = [value for value in graph.value_info if value.name not in tensor_names(model)]
    del graph.value_info[:]
    graph.value_info.extend(known)
    for part in (*graph.node, *graph.input, *graph.output, *graph.value_info, graph, model):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    constants = [tensor for tensor in graph.initializer if tensor.name not in tensors]  # made by the tracer
    shapes = {t.name: tuple(t.dims) for t in graph.initializer if t.name in tensors}
    assert all(math.prod(shape) == math.prod(tensors[name].shape) for name, shape in shapes.items())
    nodes = list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(constants)
    for name, shape in shapes.items():
        scaled = name + SCALE in tensors
        add_tensor(graph, f"{name}.whole" if scaled else name, shape, location, tensors[name])
        if scaled:
            scale = tensors[name + SCALE]
            add_tensor(graph, name + SCALE, scale.shape, location, scale)
            graph.node.append(onnx.helper.make_node("Mul", [f"{name}.whole", name + SCALE], [name]))
    graph.node.extend(nodes)


def add_tensor(graph: onnx.GraphProto, name: str, shape: Sequence[int], location: str, place: Place) -> None:
    """Add the tensor at a place of the checkpoint to a graph, in float32 and under this name.

    Other types are cast, which onnxruntime does once, when it opens the graph.
    """
    tensor = graph.initializer.add()
    tensor.name, tensor.data_type = name, DTYPES[place.dtype]
    tensor.dims.extend(shape)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", place.offset), ("length", place.length)):
        tensor.external_data.add(key=key, value=str(value))
    if tensor.data_type != onnx.TensorProto.FLOAT:
        tensor.name = f"{name}.stored"
        graph.node.append(onnx.helper.make_node("Cast", [tensor.name], [name], to=onnx.TensorProto.FLOAT))
