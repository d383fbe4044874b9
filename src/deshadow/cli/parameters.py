"""Parameters that several commands have."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Flag = Annotated[bool, Parameter(negative=())]
Weights = Annotated[str, Parameter(help="Shipped weights by name, or a .safetensors file.")]
Finder = Annotated[str, Parameter(help="Finds shadows: a shipped one by name, or a .safetensors file.")]
Device = Annotated[str, Parameter(help="auto, cpu, or a device of torch: cuda, mps.")]
Folder = Annotated[Path, Parameter(help="The folder of the data set.")]
Split = Annotated[str | None, Parameter(help="One split, by its name: train, test, val. All, unless given.")]
# The options of training are a dataclass that also serves where this command line is not installed.
Forwarded = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]
