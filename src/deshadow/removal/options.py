"""The options of a removal, declared once: name, type, default, range, choices, help, and where each shows.

The command line's flags, the HTTP form, `/api/settings` and the controls of the page are derived from
`list_options`. numpy is not imported here, so that `deshadow --help` answers at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from operator import index
from typing import Any, Literal, get_args, get_origin, get_type_hints

from deshadow.diffusion.choices import Sampler

Mode = Literal["quick", "removal"]
Sensitivity = Literal["low", "normal", "high"]
Interface = Literal["cli", "http", "page", "library"]
"""Where an option can be set: the command line, the HTTP API, the page in the browser, the library."""

_EVERYWHERE: tuple[Interface, ...] = ("cli", "http", "page", "library")
_SAMPLING: tuple[Interface, ...] = ("cli", "http", "library")
"""Where the options of sampling show. The page has no controls for them: with the shipped weights another
seed changes nothing that one sees, and more steps take longer and raise the error (docs/how-it-works.md)."""


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that an option takes."""

    minimum: float
    maximum: float
    step: float = 1
    """The smallest change that a slider makes; numbers in between are valid too."""


@dataclass(frozen=True, slots=True)
class Option:
    """What is known about one option."""

    name: str
    type: Any
    """Its annotation: `int`, `float`, `bool`, a `Literal` of strings, or a tuple."""
    default: Any
    help: str
    """One or two sentences."""
    interfaces: tuple[Interface, ...]
    range: Range | None = None
    """Of a number."""
    choices: tuple[str, ...] = ()
    """Of a `Literal`."""


def _about(help: str, *interfaces: Interface, range: Range | None = None) -> dict[str, Any]:  # noqa: A002
    """What `list_options` tells about a field of `RemovalOptions`; by default all interfaces."""
    return {"help": help, "interfaces": interfaces or _EVERYWHERE, "range": range}


@dataclass(frozen=True)
class RemovalOptions:
    """How shadows are removed, and which of them. ValueError says which value is out of range."""

    mode: Mode = field(
        default="quick",
        metadata=_about(
            "quick relights the whole photo in one pass. removal refines the result window by window, "
            "which takes longer."
        ),
    )
    dilate: int = field(
        default=10,
        metadata=_about(
            "Radius by which the mask is dilated, in pixels of a photo whose shorter side is 256.",
            range=Range(0, 64),
        ),
    )
    feather: float = field(
        default=28.0,
        metadata=_about(
            "Distance over which the change of light fades beyond the dilated mask, in pixels of a photo "
            "whose shorter side is 256.",
            range=Range(0, 64, 0.5),
        ),
    )
    strength: float = field(
        default=1.0,
        metadata=_about(
            "Share of the missing light that is restored: 1 removes the shadow, 0 keeps it.",
            range=Range(0, 1, 0.01),
        ),
    )
    steps: int = field(
        default=1,
        metadata=_about(
            "Number of sampling steps. The shipped weights are best with one. Weights that predict noise "
            "need about 50.",
            *_SAMPLING,
            range=Range(1, 50),
        ),
    )
    sampler: Sampler = field(
        default="ddim",
        metadata=_about("Sampler of the diffusion, for weights that need several steps.", *_SAMPLING),
    )
    seed: int = field(
        default=0,
        metadata=_about(
            "Seed of the noise from which sampling starts. The same seed gives the same result. With the "
            "shipped weights and one step, another seed changes a shadow by about 1 of 255 levels.",
            *_SAMPLING,
            range=Range(0, 2**32 - 1),
        ),
    )
    at: tuple[tuple[int, int], ...] = field(
        default=(),
        metadata=_about(
            "Remove only the shadow at this point X,Y, in pixels of the photo as displayed. Repeatable.",
            "cli",
            "library",
        ),
    )
    instance: tuple[int, ...] = field(
        default=(),
        metadata=_about(
            "Remove only the shadow of this number, as deshadow detect numbers them. Repeatable.",
            "cli",
            "library",
        ),
    )
    exclude: tuple[int, ...] = field(
        default=(), metadata=_about("Keep the shadow of this number. Repeatable.", "cli", "library")
    )
    invert_mask: bool = field(
        default=False,
        metadata=_about("The given mask is black in the shadow instead of white.", "cli", "library"),
    )
    sensitivity: Sensitivity = field(
        default="normal",
        metadata=_about(
            "How readily something dark counts as a shadow. normal leaves out what may not be a shadow, low "
            "leaves out all but clear shadows, high finds more and leaves out nothing. A shadow that you "
            "select is always removed."
        ),
    )

    def __post_init__(self) -> None:
        for name, convert in _CONVERSIONS.items():
            object.__setattr__(self, name, convert(name, getattr(self, name)))
        for option in list_options():
            _check(option, getattr(self, option.name))


@cache
def list_options(interface: Interface | None = None) -> tuple[Option, ...]:
    """The options that one interface shows, or all of them, in the order in which they are declared."""
    types = get_type_hints(RemovalOptions)
    options = (
        Option(
            name=declared.name,
            type=types[declared.name],
            default=declared.default,
            help=declared.metadata["help"],
            interfaces=declared.metadata["interfaces"],
            range=declared.metadata["range"],
            choices=get_args(types[declared.name]) if get_origin(types[declared.name]) is Literal else (),
        )
        for declared in fields(RemovalOptions)
    )
    return tuple(option for option in options if interface is None or interface in option.interfaces)


def parse_options(given: Mapping[str, Any]) -> RemovalOptions:
    """Options by name, as the library takes them; ValueError for a name that does not exist."""
    known = [option.name for option in list_options("library")]
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"unknown option {unknown[0]!r}: choose from {', '.join(sorted(known))}")
    return RemovalOptions(**given)


def _check(option: Option, value: Any) -> None:
    if option.choices and value not in option.choices:
        raise ValueError(f"unknown {option.name} {value!r}: choose from {', '.join(option.choices)}")
    if option.range is None:
        return
    whole = option.type is int
    is_number: bool = isinstance(value, Integral if whole else Real)
    if not is_number:
        raise ValueError(f"{option.name} is {value!r}: it must be a {'whole ' * whole}number")
    if not option.range.minimum <= value <= option.range.maximum:  # NaN fails this too
        raise ValueError(
            f"{option.name} is {value}: it must be from {option.range.minimum} to {option.range.maximum}"
        )


def _points(name: str, value: Any) -> tuple[tuple[int, int], ...]:
    """Points x, y as tuples; a single point may stand by itself."""
    try:
        points = list(value)
        if len(points) == 2 and all(isinstance(each, Real) for each in points):
            points = [points]
        return tuple((int(x), int(y)) for x, y in points)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} is {value!r}: give points x, y") from error


def _numbers(name: str, value: Any) -> tuple[int, ...]:
    """Numbers of shadows as a tuple; a single number may stand by itself."""
    try:
        return (index(value),) if isinstance(value, Integral) else tuple(index(each) for each in value)
    except TypeError as error:
        raise ValueError(f"{name} is {value!r}: give numbers of shadows") from error


_CONVERSIONS: dict[str, Callable[[str, Any], Any]] = {
    "at": _points,
    "instance": _numbers,
    "exclude": _numbers,
}
