"""Export to ONNX (extra `export`): graphs without tensors, which point into the checkpoint beside them."""

import copy
import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.export import Dim

from deshadow.backends import fingerprint, graphs
from deshadow.checkpoint import Place, load, load_detector, locate, places, read_header
from deshadow.config import DetectorConfig
from deshadow.files import replacing
from deshadow.nn.detector import ShadowDetector
from deshadow.nn.lfg import LFGDiffusion
from deshadow.quantisation import SCALE

OPSET = 21
DTYPES = {"F16": onnx.TensorProto.FLOAT16, "F32": onnx.TensorProto.FLOAT, "I8": onnx.TensorProto.INT8}


def export(path_or_name: str | Path) -> list[Path]:
    """Write the graphs of a checkpoint beside it, for any batch and any size that the network takes."""
    path = locate(path_or_name)
    config, _ = read_header(path)
    written = graphs(path, config)
    if isinstance(config, DetectorConfig):
        protos = {"detector": trace_detector(load_detector(path))}
    else:
        model = load(path)
        protos = {
            name: trace_encoder(model) if name == "guide" else trace_denoiser(model) for name in written
        }
    for name, graph in written.items():
        proto = protos[name]
        spell_out(proto)
        point_into(proto, path.name, places(path))
        onnx.helper.set_model_props(proto, {"fingerprint": fingerprint(path)})
        with replacing(graph) as beside:
            onnx.save_model(proto, beside)
    return list(written.values())


class Encoder(nn.Module):
    """The guide alone, under the name that its tensors have in the checkpoint."""

    def __init__(self, model: LFGDiffusion) -> None:
        super().__init__()
        self.guide = model.guide

    def forward(self, picture: Tensor, mask: Tensor) -> Tensor:
        """The guidance."""
        assert self.guide is not None
        guidance: Tensor = self.guide(picture, mask)
        return guidance


def trace_encoder(model: LFGDiffusion) -> onnx.ModelProto:
    """(picture, mask) → guidance."""
    return trace(Encoder(model), model.config.stride, {"picture": 3, "mask": 1}, "guidance")


def trace_denoiser(model: LFGDiffusion) -> onnx.ModelProto:
    """(noisy, t, what it sees, guidance if there is one) → what the configuration says."""
    channels = {"noisy": 3, "t": 0, **model.config.seen_channels}
    if model.guide is not None:
        channels["guidance"] = model.config.guidance_channels
    return trace(model, model.config.stride, channels, "output")


class Probability(nn.Module):
    """A detector that ends in probabilities."""

    def __init__(self, model: ShadowDetector) -> None:
        super().__init__()
        self.unet = model.unet

    def forward(self, picture: Tensor) -> Tensor:
        """The probability."""
        return torch.sigmoid(self.unet(picture))


def trace_detector(model: ShadowDetector) -> onnx.ModelProto:
    """Picture → probability."""
    return trace(Probability(model), model.config.stride, {"picture": 3}, "probability")


def trace(module: nn.Module, stride: int, channels: Mapping[str, int], output: str) -> onnx.ModelProto:
    """The graph of a module over pictures of so many channels (0: a number for each picture)."""
    side = 2 * stride  # any: batch, rows and columns stay free
    batch, rows, columns = Dim("batch"), Dim("rows"), Dim("columns")
    inputs = {name: torch.ones(2, n, side, side) if n else torch.ones(2) for name, n in channels.items()}
    shapes = {
        name: {0: batch, 2: stride * rows, 3: stride * columns} if n else {0: batch}
        for name, n in channels.items()
    }
    with warnings.catch_warnings():
        # The exporter warns of its own future, of names for equal axes and of torchvision's absence.
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        program = torch.onnx.export(
            module.eval(),
            kwargs=inputs,
            dynamo=True,
            dynamic_shapes=shapes,
            input_names=list(inputs),
            output_names=[output],
            opset_version=OPSET,
            optimize=False,  # folding would leave initialisers that are no longer the checkpoint's tensors
            verbose=False,
        )
    assert program is not None
    return program.model_proto


def spell_out(model: onnx.ModelProto) -> None:
    """Replace what onnxruntime has no kernel for: it would inline each by itself whenever it opens a graph.

    That took most of the start of a program that removes one shadow.
    """
    kinds = _kinds(onnx.shape_inference.infer_shapes(model).graph)
    nodes: list[onnx.NodeProto] = []
    shared: dict[str, NDArray[Any]] = {}
    for node in model.graph.node:
        if node.op_type == "GroupNormalization":
            steps, constants = _group_normalization(node)
            nodes += steps
            shared |= constants
        elif node.op_type == "CastLike":
            kind = kinds[node.input[1]]
            nodes.append(onnx.helper.make_node("Cast", node.input[:1], node.output, to=kind))
        else:
            nodes.append(copy.deepcopy(node))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    tensors = [onnx.numpy_helper.from_array(value, name) for name, value in shared.items()]
    model.graph.initializer.extend(tensors)


def _group_normalization(node: onnx.NodeProto) -> tuple[list[onnx.NodeProto], dict[str, NDArray[Any]]]:
    """The steps, and constants by name: a group is normalised as an instance that holds all its channels."""
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
        step("Reshape", [scale, "column"], [f"{name}_scale"]),
        step("Reshape", [shift, "column"], [f"{name}_shift"]),
        step("Mul", [f"{name}_normal", f"{name}_scale"], [f"{name}_scaled"]),
        step("Add", [f"{name}_scaled", f"{name}_shift"], [name]),
    ]
    return steps, {
        grouped: np.array([0, groups, -1]),
        ones: np.ones(groups, np.float32),
        zeros: np.zeros(groups, np.float32),
        "column": np.array([-1, 1, 1]),
    }


def _kinds(graph: onnx.GraphProto) -> dict[str, int]:
    """The type of element of every value in a graph, as far as it is known."""
    kinds = {
        value.name: value.type.tensor_type.elem_type
        for values in (graph.input, graph.output, graph.value_info)
        for value in values
    }
    return kinds | {tensor.name: tensor.data_type for tensor in graph.initializer}


def point_into(model: onnx.ModelProto, location: str, tensors: Mapping[str, Place]) -> None:
    """Replace the initialisers' values by their places in the checkpoint, and drop the tracer's notes."""
    graph = model.graph
    for node in graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    constants = [tensor for tensor in graph.initializer if tensor.name not in tensors]  # the tracer's own
    names = [tensor.name for tensor in graph.initializer if tensor.name in tensors]
    assert all(tuple(t.dims) == tensors[t.name].shape for t in graph.initializer if t.name in tensors)
    nodes = list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(constants)
    for name in names:
        graph.node.extend(restored(graph, name, location, tensors))
    graph.node.extend(nodes)


def restored(
    graph: onnx.GraphProto, name: str, location: str, tensors: Mapping[str, Place]
) -> list[onnx.NodeProto]:
    """What gives a tensor of the checkpoint in float32: a cast, and the product with its scale if it has one.

    onnxruntime does this once, when it opens the graph.
    """
    parts = [part for part in (name, name + SCALE) if part in tensors]
    wide = [f"{part}.wide" for part in parts] if len(parts) > 1 else [name]
    for part in parts:
        tensor, place = graph.initializer.add(), tensors[part]
        tensor.name, tensor.data_type = f"{part}.stored", DTYPES[place.dtype]
        tensor.dims.extend(place.shape)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", place.offset), ("length", place.length)):
            tensor.external_data.add(key=key, value=str(value))
    make = onnx.helper.make_node
    nodes = [
        make("Cast", [f"{part}.stored"], [value], name=f"{part}.cast", to=onnx.TensorProto.FLOAT)
        for part, value in zip(parts, wide, strict=True)
    ]
    return [*nodes, make("Mul", wide, [name], name=f"{name}.scaled")] if len(parts) > 1 else nodes
