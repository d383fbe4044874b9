"""The flags of a removal, which `deshadow PHOTOS` and `deshadow batch` have in common."""

from collections.abc import Sequence
from dataclasses import field, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from deshadow.cli.parameters import WHOLE_NUMBER, Flag, parse_whole_number
from deshadow.removal.options import Option, RemovalOptions, list_options

if TYPE_CHECKING:
    from cyclopts import Token

FILES = Group("Photos and results", sort_key=1)
SHADOWS = Group("Which shadows", sort_key=2)
REMOVAL = Group("How they are removed", sort_key=3)
NETWORKS = Group("Networks", sort_key=4)
_SELECTING = ("at", "instance", "exclude", "invert_mask", "sensitivity")


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
    elif option.type is int:
        how = {"converter": parse_whole_number, "n_tokens": 1}
    how["show_default"] = not isinstance(option.default, tuple | bool)
    group = SHADOWS if option.name in _SELECTING else REMOVAL
    parameter = Parameter(help=help_text, group=group, negative=(), **how)
    return option.name, Annotated[option.type, parameter], field(default=option.default)


if TYPE_CHECKING:
    RemovalFlags = RemovalOptions
else:
    RemovalFlags = make_dataclass(
        "Flags", [_make_flag(option) for option in list_options("cli")], bases=(RemovalOptions,), frozen=True
    )
    RemovalFlags.__module__ = __name__  # cyclopts takes a class of another module for a single value

SaveMask = Annotated[
    Flag, Parameter(group=FILES, help="Write the mask that was used, too: photo.deshadowed.mask.png.")
]
Compare = Annotated[
    Flag,
    Parameter(group=FILES, help="Write before and after side by side, too: photo.deshadowed.compare.jpg."),
]
Variants = Annotated[
    int,
    WHOLE_NUMBER,
    Parameter(
        group=FILES,
        help="Number of variants, each from its own seed, with a sheet of all. With the shipped weights they "
        "differ by about 1 of 255 levels, with 4 steps by about 4.",
    ),
]
Quality = Annotated[
    int | None,
    WHOLE_NUMBER,
    Parameter(
        group=FILES,
        help="Quality of a lossy format, from 1 to 100. Without it a JPEG keeps its quality.",
    ),
]
