"""`deshadow compress`: quantises weights to 8 bits. It imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def compress(
    checkpoint: Annotated[str, Parameter(help="A .safetensors file, or the name of shipped weights.")],
    /,
    *others: Annotated[
        str, Parameter(help="More checkpoints of the same networks: the mean of all weights is written.")
    ],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="File to write.")],
) -> None:
    """Quantise the weights of a checkpoint, or the mean of several, to 8 bits, which halves the file."""
    from deshadow.runtime.checkpoint import compress as write_compressed

    written = write_compressed(checkpoint, output, *others)
    print(f"{written}: {written.stat().st_size / 2**20:.1f} MiB")  # noqa: T201
