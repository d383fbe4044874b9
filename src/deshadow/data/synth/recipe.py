"""Which kinds of shadows are synthesised: a recipe, and the recipes that have a name."""

import math
from dataclasses import dataclass, field
from typing import Literal

Targets = Literal["all", "one", "some"]


@dataclass(frozen=True)
class Darkness:
    """Distribution of the dark rate, the ratio of lit to shaded luminance in linear light.

    `quantiles` are the dark rates at evenly spaced probabilities from 0 to 1, linear in between in the log.
    """

    quantiles: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = list(self.quantiles) == sorted(self.quantiles) and all(map(math.isfinite, self.quantiles))
        if len(self.quantiles) < 2 or not rising or self.quantiles[0] < 1:
            raise ValueError("dark rates (--dark-rate) must be two or more, in rising order, none below 1")

    @classmethod
    def between(cls, low: float, high: float) -> "Darkness":
        """Log-uniform from `low` to `high`, which may be equal."""
        return cls((low, high))

    @classmethod
    def lognormal(cls, median: float, spread: float) -> "Darkness":
        """Log-normal with a deviation `spread` of the natural log, cut at 2.5 of them and at 1.05."""
        steps = [-2.5 + 5 * k / 400 for k in range(401)]
        mass = [0.5 * (1 + math.erf(step / math.sqrt(2))) for step in steps]
        quantiles, at = [], 0
        for k in range(65):
            wanted = mass[0] + (mass[-1] - mass[0]) * k / 64
            while at < 399 and mass[at + 1] < wanted:
                at += 1
            part = (wanted - mass[at]) / (mass[at + 1] - mass[at])
            step = steps[at] + (steps[at + 1] - steps[at]) * min(max(part, 0.0), 1.0)
            quantiles.append(max(1.05, median * math.exp(spread * step)))
        return cls(tuple(quantiles))


# Dark rates inside the shadows of SRD's training pairs at seventeen even steps of probability, times 1.1:
# what was measured there is a little light, for some penumbra is always in it.
SUNLIGHT = Darkness(
    (1.5, 2.13, 3.01, 3.48, 3.88, 4.21, 5.09, 6.12, 6.69, 7.29, 7.85, 8.42, 8.98, 9.94, 11.32, 12.57, 16.72)
)


@dataclass(frozen=True)
class ShadowRecipe:
    """How shadows are made: probabilities and distributions, tuned to real pairs (docs/synthesis.md)."""

    shadows: tuple[float, ...] = (0.65, 0.25, 0.1)
    """Probabilities of one, two, three … shadows in a picture."""
    kinds: tuple[float, float, float, float, float] = (0.62, 0.09, 0.13, 0.08, 0.08)
    """Probabilities of an object, foliage, an edge of a building, bars, cables."""
    entering: float = 0.65
    """Probability that an object stands outside the frame and only its shadow enters."""
    standing: float = 0.0
    """Probability for each object in the frame that it is seen itself, at the foot of its shadow; of several,
    the first is seen."""
    targets: Targets = "some"
    """Which shadows are removed: all, one, or a random choice of at least one."""
    darkness: Darkness = field(default=SUNLIGHT)
    """Distribution of the dark rate, which is the same for all shadows of a picture."""
    blue: tuple[float, float] = (0.13, 0.09)
    """Mean and deviation of how much the sky lights blue over red in the shadow, as half a natural log."""
    green: float = 0.03
    """Deviation of the green against red and blue, as a natural log."""
    filter: tuple[float, float] = (0.0, 0.55)
    """Probability that the light in a picture's shadows is coloured as behind glass, and the deviation of
    each channel then, as a natural log."""
    unevenness: float = 0.16
    """Deviation of the sky's light over the picture, as a natural log."""
    contrast: tuple[float, float] = (1.06, 0.16)
    """Mean and deviation of the exponent by which light and dark surfaces differ more in the shadow."""
    flatness: float = 0.3
    """Largest part of the relief, the light and shade of small bumps, that is missing in the shadow."""
    softness: tuple[float, float] = (0.009, 0.5)
    """Median and log-deviation of the penumbra's standard deviation over the occluder's distance."""
    lens: tuple[float, float] = (0.5, 1.9)
    """Least and most standard deviation of the sharpest edge, in pixels at a size of 256."""
    noise: float = 1.5
    """Largest sensor noise in the shadow, in levels of 255."""

    def __post_init__(self) -> None:
        if not self.shadows or min(self.shadows) < 0 or sum(self.shadows) <= 0:
            raise ValueError("a recipe needs chances for one, two … shadows, none negative, not all zero")
        if min(self.kinds) < 0 or sum(self.kinds) <= 0:
            raise ValueError("a recipe needs chances for five kinds of occluder, none negative, not all zero")

    @property
    def slots(self) -> int:
        """How many shadows a picture has at most."""
        return len(self.shadows)


DEFAULT_RECIPE = ShadowRecipe()
SHADOW_RECIPES = {
    "sunlight": DEFAULT_RECIPE,
    "instances": ShadowRecipe(shadows=(0.0, 0.4, 0.35, 0.25), targets="one"),
    "dappled": ShadowRecipe(kinds=(0.15, 0.7, 0.05, 0.05, 0.05), softness=(0.016, 0.4)),
    "coloured": ShadowRecipe(darkness=Darkness.between(1.3, 6.0), filter=(1.0, 0.55)),
    "hard": ShadowRecipe(softness=(0.002, 0.6), lens=(0.05, 0.6)),
    "standing": ShadowRecipe(kinds=(1.0, 0.0, 0.0, 0.0, 0.0), entering=0.1, standing=1.0),
    "overcast": ShadowRecipe(darkness=Darkness.between(1.15, 2.2), softness=(0.05, 0.5)),
}
"""Named recipes: real sunlight; several shadows, one to remove; under trees; behind coloured things such as
bottles; with sharp edges, as in a large photo that was downscaled; of something that is seen itself; weak
and soft."""
