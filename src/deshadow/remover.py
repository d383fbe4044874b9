"""From a photo to the same photo without its shadows: finds, plans, removes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from deshadow import detect, masks, relight, windows
from deshadow.backends import Backend, Detector, condition, open_backend, open_detector
from deshadow.fields import Field, fit_within
from deshadow.masks import SEEN, Chosen, Labels
from deshadow.sampling import Sampler, sample

Mode = Literal["quick", "removal"]
Solver = Literal["ddim", "dpm"]
Stage = Literal["detect", "quick", "windows"]
Image = TypeVar("Image")

_SAMPLERS: dict[Solver, Sampler] = {"ddim": "ddim", "dpm": "dpm++"}
WINDOWED = 1280
"""Longer side, at the most, of the picture that windows are laid over."""


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


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a removal is."""

    share: float
    """Of the whole work, from 0 to 1."""
    stage: Stage
    done: int = 0
    """Windows."""
    total: int = 0
    preview: Callable[[], Field] | None = None
    """Gives the (H, W, 3) picture so far."""


@dataclass(frozen=True, slots=True)
class Relit:
    """What a removal gives."""

    pixels: Field
    """(H, W, 3) sRGB in [0, 1]: the photo without the shadow, to be laid over it by the weight."""
    weight: Field
    """(H, W) in [0, 1]; where it is 0, nothing is touched."""
    mask: Field
    """(H, W) in [0, 1]: the mask that was used, before it was dilated."""

    def over(self, pixels: Field) -> Field:
        """(H, W, 3) → the result laid over the photo; where the weight is 0, the photo's own values."""
        return laid_over(pixels, self.pixels, self.weight)


Report = Callable[[Progress], None]


class Remover:
    """Removes shadows from many photos with one model. Any number of threads may share it."""

    def __init__(
        self,
        weights: str | Path | Backend = "light",
        detector: str | Path | Detector = "detector",
        device: str = "auto",
        threads: int = 0,
    ) -> None:
        """Weights and detector: shipped ones by name, a checkpoint, or something open already.

        Each is opened when it is first needed. `threads` of onnxruntime; 0 takes every core.
        """
        self._weights, self._detector = weights, detector
        self._device, self._threads = device, threads
        self._opening_weights, self._opening_detector = Lock(), Lock()

    @property
    def backend(self) -> Backend:
        """The model, opened at the first use."""
        with self._opening_weights:
            if isinstance(self._weights, str | Path):
                self._weights = open_backend(self._weights, self._device, self._threads)
            backend = self._weights
        if backend.config.unconditional:
            raise ValueError("this model fills holes and never sees the shadow: choose weights that do")
        return backend

    @property
    def detector(self) -> Detector:
        """The detector of shadows, opened at the first use."""
        with self._opening_detector:
            if isinstance(self._detector, str | Path):
                self._detector = open_detector(self._detector, self._device, self._threads)
            return self._detector

    def probability(self, pixels: Field) -> Field:
        """(H, W, 3) sRGB in [0, 1] → (H, W): how likely each pixel is to lie in a shadow."""
        return detect.probability(self.detector, pixels)

    def instances(self, pixels: Field, threshold: float = 0.5) -> Labels:
        """(H, W, 3) sRGB in [0, 1] → (H, W): 0 outside shadows, 1, 2, … in each, from the largest."""
        return masks.instances(self.probability(pixels), threshold)

    def relight(
        self,
        pixels: Field,
        mask: NDArray[Any] | None = None,
        options: Options = Options(),  # noqa: B008 (immutable)
        progress: Report | None = None,
    ) -> Relit | None:
        """Remove the shadows of (H, W, 3) sRGB in [0, 1]; None if there are none.

        `mask` (h, w) is 1 (or 255) in the shadow; without one the shadows are found. An exception that
        `progress` raises ends the work.
        """
        if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
            raise ValueError(f"a picture is (height, width, 3), not {pixels.shape}")
        report: Report = progress or (lambda _: None)
        # All that can be refused is refused before the work; both networks are opened at once.
        with ThreadPoolExecutor(1) as pool:
            opening = pool.submit(lambda: self.detector) if mask is None else None
            backend = self.backend
            if opening is not None:
                opening.result()
        backend.config.schedule.times(options.steps)
        report(Progress(0.0, "detect"))
        chosen = self.choose(pixels, mask, options)
        weight = masks.reach(chosen, options.dilate, options.feather)
        if not chosen.mask.any() or not weight.any():
            return None
        report(Progress(0.1, "quick"))
        relit = quick(backend, pixels, chosen, weight, options)
        if options.mode == "removal":
            relit = removal(backend, pixels, chosen, weight, relit, options, report)
        report(Progress(1.0, "windows" if options.mode == "removal" else "quick"))
        return Relit(relit, weight, chosen.mask)

    def choose(self, pixels: Field, mask: NDArray[Any] | None, options: Options) -> Chosen:
        """What is to be removed from (H, W, 3) and what must stay: by the given mask, or a detected one."""
        height, width = pixels.shape[:2]
        if mask is not None:
            given = masks.as_mask(mask, height, width, options.invert_mask)
            if not (options.at or options.instance or options.exclude):
                return Chosen(given)
        else:
            given = self.probability(pixels)
        labels = masks.instances(given, options.threshold)
        found = given if mask is not None else (labels > 0).astype(np.float32)
        return masks.choose(found, labels, options.at, options.instance, options.exclude)

    def remove(self, image: Image, mask: Any = None, **options: Any) -> Image:
        """The picture without its shadows, of the type that came; a path gives a PIL picture.

        `image` is bytes of a file, a PIL picture, a numpy array (H, W, 3), a tensor ((B,) 3, H, W) or a path;
        `mask` is any of these, 1 (or 255) in the shadow. Options are those of `Options`.
        """
        from deshadow import kinds

        chosen = options_from(options)

        def relit(pixels: Field, own: NDArray[Any] | None) -> kinds.Change | None:
            found = self.relight(pixels, own, chosen)
            return None if found is None else (found.pixels, found.weight)

        result: Image = kinds.through(image, mask, relit)
        return result


def remove(image: Image, mask: Any = None, **options: Any) -> Image:
    """`Remover().remove` with the shipped weights, which stay open for the next call."""
    return _shipped().remove(image, mask, **options)


def options_from(given: dict[str, Any]) -> Options:
    """Options by name; where several can be given, a list or just one is welcome."""
    known = {field.name for field in fields(Options)}
    if unknown := sorted(set(given) - known):
        raise ValueError(f"unknown option {unknown[0]!r}: choose from {', '.join(sorted(known))}")
    return Options(**{name: _several(name, value) for name, value in given.items()})


def quick(backend: Backend, pixels: Field, chosen: Chosen, weight: Field, options: Options) -> Field:
    """(H, W, 3): the photo relit as the network would have the whole of it, reduced."""
    height, width = fit_within(pixels.shape[:2], SEEN)
    shadow = relight.reduced(pixels, height, width)
    mask = masks.seen_mask(chosen, options.dilate, height, width)
    picture = np.ascontiguousarray((shadow * 2 - 1).transpose(2, 0, 1)[None])
    denoise = condition(backend, picture, mask[None, None])
    noise = np.random.default_rng(options.seed).standard_normal(picture.shape).astype(np.float32)
    sampler = _SAMPLERS[options.sampler]
    found = sample(denoise, noise, backend.config.schedule, steps=options.steps, sampler=sampler)
    clean = ((found[0].transpose(1, 2, 0) + 1) / 2).clip(0, 1)
    relighting = relight.fit(shadow, clean, relight.reduced(weight, height, width))
    return relight.apply(relighting, pixels, weight, options.strength)


def removal(
    backend: Backend,
    pixels: Field,
    chosen: Chosen,
    weight: Field,
    relit: Field,
    options: Options,
    report: Report,
) -> Field:
    """(H, W, 3): the photo relit as windows over the shadow would have it, each started from Quick."""
    height, width = fit_within(pixels.shape[:2], WINDOWED)
    shadow, start, seen = (relight.reduced(field, height, width) for field in (pixels, relit, weight))
    reach = round(options.dilate * max(height, width) / SEEN)
    mask = masks.seen_mask(chosen, reach, height, width)
    start = laid_over(shadow, start, seen)
    places = windows.lay_out(seen)

    def carried(clean: Field) -> Field:
        return relight.apply(relight.fit(shadow, clean, seen), pixels, weight, options.strength)

    refined: Callable[[], Field] = lambda: start  # noqa: E731
    report(Progress(0.2, "windows", 0, len(places), lambda: laid_over(pixels, relit, weight)))
    states = windows.refine(
        backend,
        shadow,
        start,
        mask,
        places,
        steps=options.steps,
        sampler=_SAMPLERS[options.sampler],
        seed=options.seed,
    )
    for done, refined in enumerate(states, start=1):

        def preview(state: Callable[[], Field] = refined) -> Field:
            return laid_over(pixels, carried(state()), weight)

        report(Progress(0.2 + 0.75 * done / len(places), "windows", done, len(places), preview))
    return carried(refined())


def laid_over(pixels: Field, result: Field, weight: Field) -> Field:
    """(H, W, 3), (H, W, 3), (H, W) → the result over the picture; where the weight is 0, the picture."""
    mixed = pixels.astype(np.float32, copy=True)
    touched = weight > 0
    mixed[touched] += weight[touched][:, None] * (result[touched] - mixed[touched])
    return mixed


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


_SHIPPED: list[Remover] = []
_OPENING = Lock()


def _shipped() -> Remover:
    with _OPENING:
        if not _SHIPPED:
            _SHIPPED.append(Remover())
        return _SHIPPED[0]
