"""`deshadow PHOTOS`: removes shadows from files. It imports what it needs when it runs."""

import sys
from collections.abc import Sequence
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from deshadow.cli.parameters import Device, Finder, Flag, Weights
from deshadow.removal.options import Option, RemovalOptions, list_options

if TYPE_CHECKING:
    from cyclopts import Token

_FILES = Group("Photos and results", sort_key=1)
_SHADOWS = Group("Which shadows", sort_key=2)
_REMOVAL = Group("How they are removed", sort_key=3)
_NETWORKS = Group("Networks", sort_key=4)
_SELECTING = ("at", "instance", "exclude", "invert_mask", "threshold")


def _parse_points(_: Any, tokens: "Sequence[Token]") -> tuple[tuple[int, int], ...]:
    """((120, 80),) from `--at 120,80`."""
    points = []
    for token in tokens:
        x, comma, y = token.value.partition(",")
        if not (comma and x.strip().isdigit() and y.strip().isdigit()):
            raise ValueError(f"{token.value!r} is not a point: write X,Y in pixels, as in --at 120,80")
        points.append((int(x), int(y)))
    return tuple(points)


def _parse_numbers(_: Any, tokens: "Sequence[Token]") -> tuple[int, ...]:
    """(1, 2) from `--instance 1 --instance 2` or `--instance 1,2`."""
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    for word in words:
        if not word.isdigit():
            raise ValueError(f"{word!r} is not the number of a shadow: deshadow detect lists the numbers")
    return tuple(int(word) for word in words)


def _make_flag(option: Option) -> tuple[str, Any, Any]:
    """The field of a dataclass that cyclopts makes a flag of: name, annotation and default."""
    help_text, how = option.help, dict[str, Any]()
    if option.range is not None:
        help_text += f" From {option.range.minimum} to {option.range.maximum}."
    if option.name == "at":
        how = {"converter": _parse_points, "n_tokens": 1, "metavar": "X,Y"}
    elif option.name in ("instance", "exclude"):
        how = {"converter": _parse_numbers, "n_tokens": 1, "metavar": "N"}
    how["show_default"] = not isinstance(option.default, tuple | bool)
    group = _SHADOWS if option.name in _SELECTING else _REMOVAL
    parameter = Parameter(help=help_text, group=group, negative=(), **how)
    return option.name, Annotated[option.type, parameter], field(default=option.default)


if TYPE_CHECKING:
    _Flags = RemovalOptions
else:
    _Flags = make_dataclass(
        "Flags", [_make_flag(option) for option in list_options("cli")], bases=(RemovalOptions,), frozen=True
    )
    _Flags.__module__ = __name__  # cyclopts takes a class of another module for a single value


def remove(
    *photos: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True, help="Files, folders, patterns, or - for standard input.", group=_FILES
        ),
    ],
    output: Annotated[
        str | None,
        Parameter(
            alias="-o",
            allow_leading_hyphen=True,
            group=_FILES,
            help="A file, a folder, or - for standard output. Without it each result is written beside its "
            "photo. In a folder, results have the names of the photos.",
        ),
    ] = None,
    recursive: Annotated[Flag, Parameter(group=_FILES, help="Search folders within folders too.")] = False,
    skip_existing: Annotated[
        Flag, Parameter(group=_FILES, help="Skip photos whose result exists already.")
    ] = False,
    save_mask: Annotated[
        Flag,
        Parameter(group=_FILES, help="Write the mask that was used, too: photo.deshadowed.mask.png."),
    ] = False,
    compare: Annotated[
        Flag,
        Parameter(
            group=_FILES, help="Write before and after side by side, too: photo.deshadowed.compare.jpg."
        ),
    ] = False,
    variants: Annotated[
        int, Parameter(group=_FILES, help="Number of variants, each from its own seed, with a sheet of all.")
    ] = 1,
    json: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True,
            group=_FILES,
            help="Write a report to this file, or to - for standard output.",
        ),
    ] = None,
    quality: Annotated[
        int | None,
        Parameter(
            group=_FILES,
            help="Quality of JPEG, WebP, AVIF and HEIC, from 1 to 100. Without it a JPEG keeps its quality.",
        ),
    ] = None,
    workers: Annotated[
        int, Parameter(group=_FILES, help="Number of photos processed at a time. Each needs memory.")
    ] = 1,
    mask: Annotated[
        Path | None,
        Parameter(
            group=_SHADOWS,
            help="A picture that is white in the shadow, or a folder of such pictures named like the photos. "
            "Without it the shadows are found.",
        ),
    ] = None,
    options: Annotated[_Flags, Parameter(name="*")] = _Flags(),  # noqa: B008 (immutable)
    weights: Annotated[Weights, Parameter(group=_NETWORKS)] = "light",
    detector: Annotated[Finder, Parameter(group=_NETWORKS)] = "detector",
    device: Annotated[Device, Parameter(group=_NETWORKS)] = "auto",
) -> None:
    """Remove the shadows of photos: all of them, or those that you point at.

    `deshadow photo.jpg` writes photo.deshadowed.jpg beside the photo, with the same format, bit depth, colour
    profile and metadata. Pixels outside the shadow do not change.
    """
    if not photos:
        from deshadow.cli.app import app

        app.help_print()
        return
    if unknown := [each for each in photos if each.startswith("-") and each != "-"]:
        raise ValueError(f"unknown option {unknown[0]}: deshadow --help lists the options")
    from deshadow.removal import batch
    from deshadow.removal.remover import Remover

    request = batch.Request(
        output, mask, recursive, skip_existing, save_mask, compare, variants, json, quality, workers
    )
    outcomes = batch.run(photos, request, options, Remover(weights, detector, device))
    if any(outcome.state == "failed" for outcome in outcomes):
        sys.exit(2)
