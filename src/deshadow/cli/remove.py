"""`deshadow PHOTOS`: what it takes, and where it goes. It imports what it needs when it runs."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from deshadow.cli.parameters import Device, Finder, Flag, Weights

Numbers = Annotated[list[str] | None, Parameter(negative=())]


def remove(
    *photos: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Annotated[str | None, Parameter(alias="-o", allow_leading_hyphen=True)] = None,
    mask: Path | None = None,
    mode: Literal["quick", "removal"] | None = None,
    recursive: Flag = False,
    skip_existing: Flag = False,
    save_mask: Flag = False,
    compare: Flag = False,
    variants: int = 1,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    quality: int | None = None,
    at: Numbers = None,
    instance: Numbers = None,
    exclude: Numbers = None,
    invert_mask: Flag = False,
    dilate: int | None = None,
    feather: float | None = None,
    strength: float | None = None,
    steps: int | None = None,
    sampler: Literal["ddim", "dpm"] | None = None,
    seed: int | None = None,
    weights: Weights = "light",
    detector: Finder = "detector",
    device: Device = "auto",
    workers: int = 1,
) -> None:
    """Remove the shadows of photos: all of them, or those that you point at.

    `deshadow photo.jpg` writes photo.deshadowed.jpg beside it, in the format, depth, colours and with the
    metadata of the photo. What lies outside the shadow is not touched.

    Parameters
    ----------
    photos
        Files, folders, patterns, or - for standard input.
    output
        A file, a folder in which names stay, or - for standard output. Beside each photo, unless given.
    mask
        A picture that is white in the shadow, or a folder of them by the photos' names. Left out: shadows
        are found.
    mode
        quick: one pass over the whole photo. removal: closer, window by window, and slower.
    recursive
        Folders within folders too.
    skip_existing
        Leave results that are there already.
    save_mask
        Write the mask that was used beside the result: photo.deshadowed.mask.png.
    compare
        Write before and after side by side: photo.deshadowed.compare.jpg.
    variants
        So many results, from as many seeds, and a sheet of them.
    json
        Write a report to this file, or to - for standard output.
    quality
        Of JPEG, WebP, AVIF and HEIC, 1 to 100. A JPEG keeps that of the photo, unless given.
    at
        X,Y in pixels of the photo as displayed: only the shadow there. Repeatable.
    instance
        Only the shadow of this number, as `deshadow detect` numbers them. Repeatable.
    exclude
        All but the shadow of this number. Repeatable.
    invert_mask
        The mask is black in the shadow.
    dilate
        Pixels by which the mask grows, of a photo whose longer side is 512.
    feather
        Pixels over which the removal fades, of a photo whose longer side is 512.
    strength
        Share of the missing light that is given back, 0 to 1.
    steps
        Of the sampler.
    sampler
        ddim or dpm.
    seed
        Of the noise: the same seed gives the same result.
    workers
        Photos at a time; each takes its memory.
    """
    if not photos:
        from deshadow.cli.app import app

        app.help_print()
        return
    if unknown := [each for each in photos if each.startswith("-") and each != "-"]:
        raise ValueError(f"unknown option {unknown[0]}: deshadow --help lists them")
    from deshadow.removal import batch
    from deshadow.removal.options import parse_options
    from deshadow.removal.remover import Remover

    given: dict[str, Any] = {
        "mode": mode,
        "dilate": dilate,
        "feather": feather,
        "strength": strength,
        "steps": steps,
    }
    given |= {"sampler": sampler, "seed": seed, "invert_mask": invert_mask or None}
    given |= {"at": _points(at), "instance": _numbers(instance), "exclude": _numbers(exclude)}
    options = parse_options({name: value for name, value in given.items() if value is not None})
    request = batch.Request(
        output, mask, recursive, skip_existing, save_mask, compare, variants, json, quality, workers
    )
    outcomes = batch.run(photos, request, options, Remover(weights, detector, device))
    if any(outcome.state == "failed" for outcome in outcomes):
        sys.exit(2)


def _numbers(given: list[str] | None) -> tuple[int, ...] | None:
    """1 and 2 from `--instance 1 --instance 2` or `--instance 1,2`."""
    if given is None:
        return None
    words = [word for each in given for word in each.split(",")]
    if not all(word.strip().isdigit() for word in words):
        raise ValueError(
            f"{','.join(given)} is no number of a shadow: give 1, 2, … as deshadow detect shows them"
        )
    return tuple(int(word) for word in words)


def _points(given: list[str] | None) -> tuple[tuple[int, int], ...] | None:
    """(120, 80) from `--at 120,80`."""
    if given is None:
        return None
    points = []
    for each in given:
        x, comma, y = each.partition(",")
        if not (comma and x.strip().isdigit() and y.strip().isdigit()):
            raise ValueError(f"--at {each} is no point: give it as X,Y in pixels, as in --at 120,80")
        points.append((int(x), int(y)))
    return tuple(points)
