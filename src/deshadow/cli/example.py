"""`deshadow example`: removes the shadow of a photo that ships, so that a first try needs no photo."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from deshadow.cli.remove import remove

EXAMPLES = Path(__file__).parents[1] / "examples"
_SHOWN = "pavement.jpg"


def example(
    *, output: Annotated[Path, Parameter(alias="-o", help="Folder to write to.", show_default=False)] = Path()
) -> None:
    """Remove the shadow of an example: write example.jpg and its result into this folder."""
    from deshadow.removal.tasks import make_folder
    from deshadow.system.files import write_output

    photo, data = output / "example.jpg", (EXAMPLES / _SHOWN).read_bytes()
    if photo.exists() and photo.read_bytes() != data:
        raise ValueError(f"{photo} exists already and is another photo: choose another folder with -o")
    make_folder(output)
    write_output(photo, data)
    print(f"{photo}: a photo of a pavement, with drawn shadows of leaves")  # noqa: T201
    remove(str(photo))
