"""Parameters that several commands have."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
Weights = Annotated[
    str, Parameter(help="Networks that remove shadows: name of shipped weights, or a .safetensors file.")
]
DetectorWeights = Annotated[
    str, Parameter(help="Network that finds shadows: name of shipped weights, or a .safetensors file.")
]
Device = Annotated[str, Parameter(help="auto, cpu, or a device of torch, such as cuda or mps.")]
Folder = Annotated[Path, Parameter(help="Folder of the data set.")]
Split = Annotated[str | None, Parameter(help="One split: train, test or val. Without it all are used.")]
# The options of training are a dataclass that also works where cyclopts is not installed.
Forwarded = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]
