"""`deshadow detect`: finds shadows without removing them."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from deshadow.cli.parameters import ChosenRuntime, DetectorWeights, Device
from deshadow.removal.options import Sensitivity
from deshadow.runtime.choice import Runtime

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LOSSLESS = (".png", ".tif", ".tiff", ".bmp")


def detect(
    photo: Annotated[Path, Parameter(help="Photo to search for shadows.")],
    /,
    *,
    output: Annotated[
        Path,
        Parameter(
            alias="-o", help="Mask to write, white in the shadow; its name ends in .png, .tif or .bmp."
        ),
    ],
    overlay: Annotated[
        Path | None, Parameter(help="Picture to write: the photo with its shadows outlined and numbered.")
    ] = None,
    sensitivity: Annotated[
        Sensitivity,
        Parameter(help="How readily something dark counts as a shadow, as in a removal."),
    ] = "normal",
    detector: DetectorWeights = "detector",
    device: Device = "auto",
    runtime: ChosenRuntime = "auto",
) -> None:
    """Find the shadows of a photo: write them as a mask, and list them with their numbers."""
    for line in find_shadows(photo, output, overlay, sensitivity, detector, device, runtime):
        print(line)  # noqa: T201


def find_shadows(
    photo: Path,
    output: Path,
    overlay: Path | None,
    sensitivity: Sensitivity,
    detector: str,
    device: str,
    runtime: Runtime = "auto",
) -> Iterator[str]:
    """Write the mask, 255 in a shadow, and the overlay; yields a line for each file and each shadow."""
    import numpy as np
    from PIL import Image

    from deshadow.photo import format_of, read_photo
    from deshadow.removal import sheets
    from deshadow.removal.remover import Remover
    from deshadow.removal.tasks import PhotoTask, check_outputs, make_folder
    from deshadow.system.files import silence_pillow, silence_stderr, write_output

    silence_pillow()
    if output.suffix.lower() not in _LOSSLESS:
        raise ValueError(
            f"{output}: the name of a mask must end in {', '.join(_LOSSLESS)}, since JPEG would blur it"
        )
    places = [output] if overlay is None else [output, overlay]
    for place in places:
        format_of(place)
    check_outputs([PhotoTask(photo, output)], places)
    with silence_stderr():
        seen = read_photo(photo)
    for folder in dict.fromkeys(place.parent for place in places):
        make_folder(folder)
    remover = Remover(detector=detector, device=device, runtime=runtime)
    picture = seen.picture  # it keeps the small copy of the photo that both searches use
    labels = remover.find_shadows(picture, sensitivity)
    unsure = remover.find_unsure(picture, labels, sensitivity)
    mask = Image.fromarray(np.where(labels > 0, np.uint8(255), np.uint8(0)))
    write_output(output, sheets.encode_image(mask, format_of(output)))
    count = int(labels.max(initial=0))
    if not count:
        yield f"{output}: no shadow found, so the mask is black"
    else:
        share = 100 * float((labels > 0).mean())
        shadows = "1 shadow" if count == 1 else f"{count} shadows"
        yield f"{output}: found {shadows}, {share:.0f} % of the photo"
    if overlay is not None:
        write_output(
            overlay, sheets.encode_image(sheets.draw_overlay(seen.pixels, labels), format_of(overlay))
        )
        yield f"{overlay}"
    yield from _listing(labels, unsure)


def _listing(labels: "NDArray[np.int32]", unsure: Collection[int]) -> Iterator[str]:
    """Lines with the number of each shadow, its share of the photo, and a point in it for --at."""
    from deshadow.removal import sheets

    for number in range(1, int(labels.max(initial=0)) + 1):
        inside = labels == number
        x, y = sheets.find_middle(inside)
        doubt = " (may not be a shadow)" * (number in unsure)
        yield f"{number}: {100 * float(inside.mean()):.1f} % of the photo, at {x:.0f},{y:.0f}{doubt}"
