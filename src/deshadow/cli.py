"""The command line: parses, calls, prints. What a command does lives in the module that it calls."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from deshadow import __version__

# Each command imports what it needs when it runs, so that `--help` answers at once.
app = App(
    name="deshadow",
    help="Remove shadows from photographs.",
    version=__version__,
    version_flags=["--version"],
    help_format="markdown",
)


@app.command
def synth(
    *,
    count: int,
    out: Path,
    backgrounds: Path | None = None,
    occluders: Path | None = None,
    seed: int = 0,
    size: int = 256,
    preset: Literal["sunlight", "instances", "dappled", "overcast"] = "sunlight",
    targets: Literal["all", "one", "some"] | None = None,
    dark_rate: Annotated[tuple[float, float] | None, Parameter(negative=())] = None,
    device: str = "cpu",
) -> None:
    """Make pictures with shadows, the same without, and the masks.

    Writes shadow/, mask/, shadow_free/ and instances/ as PNG. The same seed gives the same files, and
    a run that was broken off goes on where it stopped.

    Parameters
    ----------
    count
        How many triplets.
    out
        Folder to write to: new, empty, or begun with the same settings.
    backgrounds
        Folder or tar of evenly lit pictures. Left out: brick, tiles, asphalt, grass, planks and more
        are drawn.
    occluders
        Folder or tar of silhouettes, bright or opaque where they block light. Left out: people, plants,
        hands and lumps are drawn. Foliage, buildings, bars and cables are always drawn.
    seed
        Another seed, other pictures.
    size
        Side of the pictures in pixels.
    preset
        sunlight: like real outdoor pairs. instances: several shadows, one to remove. dappled: under
        trees. overcast: weak and soft.
    targets
        Which shadows to remove: all, one, or some. Left out: what the preset says.
    dark_rate
        Least and most ratio of lit to shaded light, as in `--dark-rate 3 8`. Left out: what the preset says.
    device
        Where to compute: cpu or cuda.
    """
    from deshadow.data.command import synth_to_disk

    new = synth_to_disk(out, count, backgrounds, occluders, seed, size, preset, targets, dark_rate, device)
    print(f"{out}: {count} triplets, {new} of them new")  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; what a user can cause ends in one line on stderr and exit code 2."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except (CycloptsError, ValueError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def fail(message: str) -> None:
    """End with one line on stderr and exit code 2."""
    print(f"deshadow: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
