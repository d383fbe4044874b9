"""What can be chosen about a removal."""

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

Mode = Literal["quick", "removal"]
Solver = Literal["ddim", "dpm"]


@dataclass(frozen=True)
class Options:
    """What can be chosen about a removal."""

    mode: Mode = "quick"
    """quick: one pass over the whole picture, reduced. removal: windows over the shadow besides."""
    dilate: int = 15
    """Pixels by which the mask grows, of a picture whose longer side is 512; 15 is as in training."""
    feather: float = 4.0
    """Pixels, of the same picture, over which the removal fades beyond the dilated mask."""
    strength: float = 1.0
    """Share of the missing light that is given back, from 0 to 1."""
    steps: int = 1
    """Of the sampler."""
    sampler: Solver = "ddim"
    seed: int = 0
    """Of the noise."""
    at: tuple[tuple[int, int], ...] = ()
    """Points x, y: only the shadows under them."""
    instance: tuple[int, ...] = ()
    """Numbers of shadows, 1 being the largest: only these."""
    exclude: tuple[int, ...] = ()
    """Numbers of shadows that stay."""
    invert_mask: bool = False
    """The given mask is bright outside the shadow."""
    threshold: float = 0.5
    """Probability from which on a pixel counts as shadow, where no mask is given."""

    def __post_init__(self) -> None:
        for name, chosen, choices in (("mode", self.mode, Mode), ("sampler", self.sampler, Solver)):
            if chosen not in get_args(choices):
                raise ValueError(f"unknown {name} {chosen!r}: choose from {', '.join(get_args(choices))}")
        for name, least, most in (
            ("dilate", 0, 256),
            ("feather", 0, 256),
            ("strength", 0, 1),
            ("steps", 1, 1000),
            ("seed", 0, 2**63 - 1),
            ("threshold", 0, 1),
        ):
            value: Any = getattr(self, name)
            whole = name not in ("feather", "strength", "threshold")
            fits: bool = isinstance(value, Integral if whole else Real)
            if not fits:
                raise ValueError(f"{name} is {value!r}: it must be a {'whole ' * whole}number")
            if not least <= value <= most:  # which also refuses what is not a number
                raise ValueError(f"{name} is {value}: it must be from {least} to {most}")


def options_from(given: dict[str, Any]) -> Options:
    """Options by name; where several can be given, a list or just one is welcome."""
    known = {field.name for field in fields(Options)}
    if unknown := sorted(set(given) - known):
        raise ValueError(f"unknown option {unknown[0]!r}: choose from {', '.join(sorted(known))}")
    return Options(**{name: _several(name, value) for name, value in given.items()})


def _several(name: str, value: Any) -> Any:
    """A list as a tuple, and a single point or number as one of several."""
    try:
        if name == "at":
            points = (value,) if len(value) == 2 and not any(np.ndim(each) for each in value) else value
            return tuple((int(x), int(y)) for x, y in points)
        if name in ("instance", "exclude"):
            return tuple(int(each) for each in np.atleast_1d(value).tolist())
    except (TypeError, ValueError) as error:
        wanted = "points x, y" if name == "at" else "numbers of shadows"
        raise ValueError(f"{name} is {value!r}: give {wanted}") from error
    return value
