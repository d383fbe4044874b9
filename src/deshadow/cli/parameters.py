"""Parameters that several commands have."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from deshadow.runtime.choice import Runtime

if TYPE_CHECKING:
    from cyclopts import Token


def parse_whole_number(_: Any, tokens: "Sequence[Token]") -> int:
    """2 from `--steps 2`; ValueError for `--steps 1.5`, which cyclopts would round."""
    (token,) = tokens
    try:
        return int(token.value)
    except ValueError as error:
        raise ValueError(f"{token.value!r} is not a whole number") from error


WHOLE_NUMBER = Parameter(converter=parse_whole_number, n_tokens=1)
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
Weights = Annotated[
    str, Parameter(help="Networks that remove shadows: name of shipped weights, or a .safetensors file.")
]
DetectorWeights = Annotated[
    str, Parameter(help="Network that finds shadows: name of shipped weights, or a .safetensors file.")
]
Device = Annotated[
    str,
    Parameter(
        help="auto (a GPU of NVIDIA or AMD if torch finds one, else cpu), cpu, or a device of torch, such as "
        "cuda or mps."
    ),
]
ChosenRuntime = Annotated[
    Runtime,
    Parameter(
        help="Library that runs the networks. auto is torch on a GPU, else openvino where its extra is "
        "installed and the processor computes in bfloat16, else onnxruntime."
    ),
]
Folder = Annotated[Path, Parameter(help="Folder of the data set.")]
Split = Annotated[str | None, Parameter(help="One split: train, test or val. Without it all are used.")]
# The options of training are a dataclass that also works where cyclopts is not installed.
Forwarded = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]
