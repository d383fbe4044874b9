"""From a photo to the same photo without its shadows: finds, plans, removes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deshadow.image.filters import Field
from deshadow.removal import detect, masks, relight
from deshadow.removal.masks import Chosen, Labels
from deshadow.removal.modes import Progress, Report, laid_over, quick, removal
from deshadow.removal.options import Options, options_from
from deshadow.runtime.backends import Backend, Detector, open_backend, open_detector

Image = TypeVar("Image")


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


class WeightsError(ValueError):
    """A network cannot be used, and so no photo can be worked on."""


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
        with _opening(self._opening_weights):
            if isinstance(self._weights, str | Path):
                self._weights = open_backend(self._weights, self._device, self._threads)
            if self._weights.config.unconditional:
                raise ValueError("this model fills holes and never sees the shadow: choose weights that do")
            return self._weights

    @property
    def detector(self) -> Detector:
        """The detector of shadows, opened at the first use."""
        with _opening(self._opening_detector):
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
        *,
        barrier: NDArray[np.bool_] | None = None,
    ) -> Relit | None:
        """Remove the shadows of (H, W, 3) sRGB in [0, 1]; None if there are none.

        `mask` (h, w) is 1 (or 255) in the shadow; without one the shadows are found. `barrier` (H, W) is what
        stays as it is, however far masks grow. An exception that `progress` raises ends the work.
        """
        if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
            raise ValueError(f"a picture is (height, width, 3), not {pixels.shape}")
        report: Report = progress or (lambda _: None)
        report(Progress(0.0, "detect"))
        with ThreadPoolExecutor(1) as pool:
            choosing = pool.submit(self.choose, pixels, mask, options)
            backend = self.backend  # the first time, that takes longer than finding the shadows meanwhile
            backend.config.schedule.times(options.steps)
            chosen = choosing.result()
        if barrier is not None:
            kept = barrier if chosen.barrier is None else barrier | chosen.barrier
            chosen = replace(chosen, barrier=kept)
        weight = masks.reach(chosen, options.dilate, options.feather)
        if not chosen.mask.any() or not weight.any():
            return None
        report(Progress(0.1, "quick"))
        relit = quick(backend, pixels, chosen, weight, options)
        if options.mode == "removal":
            relit = removal(backend, pixels, chosen, weight, relit, options, report)
        relit = relight.weakened(pixels, relit, options.strength)
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
        from deshadow.photo import inputs

        chosen = options_from(options)

        def relit(pixels: Field, own: NDArray[Any] | None) -> inputs.Change | None:
            found = self.relight(pixels, own, chosen)
            return None if found is None else (found.pixels, found.weight)

        result: Image = inputs.through(image, mask, relit)
        return result


def remove(image: Image, mask: Any = None, **options: Any) -> Image:
    """`Remover().remove` with the shipped weights, which stay open for the next call."""
    return _shipped().remove(image, mask, **options)


@contextmanager
def _opening(lock: Lock) -> Iterator[None]:
    """One thread opens a network, the others wait; what is wrong is the network's fault, not the photo's."""
    with lock:
        try:
            yield
        except (ValueError, OSError) as error:
            raise WeightsError(str(error)) from error


_SHIPPED: list[Remover] = []
_OPENING = Lock()


def _shipped() -> Remover:
    with _OPENING:
        if not _SHIPPED:
            _SHIPPED.append(Remover())
        return _SHIPPED[0]
