"""Removes shadows from photos: finds and selects them, and relights the photo."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deshadow.image.strips import Field, Picture
from deshadow.photo import inputs
from deshadow.removal import certainty, detect, masks
from deshadow.removal.masks import Labels
from deshadow.removal.modes import Progress, Report, composite, quick, removal
from deshadow.removal.options import RemovalOptions, Sensitivity, parse_options
from deshadow.removal.reach import weigh
from deshadow.removal.relighting import apply_strength
from deshadow.removal.selection import Selection, select, select_painted
from deshadow.runtime.backend import Backend, Detector
from deshadow.runtime.choice import Runtime
from deshadow.runtime.open import open_backend, open_detector
from deshadow.system.memory import release_freed_memory

Image = TypeVar("Image")


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """A photo without the selected shadows, and where it differs from the photo."""

    relit: Picture
    """(H, W, 3) sRGB in [0, 1]: the photo without the shadow, to be composited over it by the weight."""
    weight: Field
    """(H, W) in [0, 1]; where it is 0, the photo does not change."""
    mask: Field
    """(H, W) in [0, 1]: the mask of the selection, before it was dilated."""
    found: int = 0
    """Number of shadows that were found, whether selected or not."""
    left_out: int = 0
    """Number of found shadows that stay because they may be something else."""

    @property
    def pixels(self) -> Field:
        """(H, W, 3) sRGB in [0, 1]: the photo without the shadow, as an array."""
        return np.asarray(self.relit, np.float32)

    def composite(self, pixels: Picture) -> Field:
        """(H, W, 3) → the result over the photo; where the weight is 0, the photo's own values."""
        return composite(pixels, self.relit, self.weight)


class WeightsError(ValueError):
    """A network cannot be opened, so that no photo can be processed."""


class Remover:
    """Removes shadows from photos; any number of threads may share one."""

    def __init__(
        self,
        weights: str | Path | Backend = "light",
        detector: str | Path | Detector = "detector",
        device: str = "auto",
        threads: int = 0,
        runtime: Runtime = "auto",
    ) -> None:
        """`weights` and `detector` are names of shipped weights, paths of checkpoints, or open networks.

        Each network is opened when it is first used. The other arguments are those of
        `deshadow.runtime.open.open_backend`.
        """
        self._weights, self._detector = weights, detector
        self._device, self._threads, self._runtime = device, threads, runtime
        self._opening_weights, self._opening_detector = Lock(), Lock()

    @property
    def backend(self) -> Backend:
        """The networks that remove shadows, opened at the first use."""
        with _opening(self._opening_weights):
            if isinstance(self._weights, str | Path):
                self._weights = open_backend(self._weights, self._device, self._threads, self._runtime)
            if self._weights.config.unconditional:
                raise ValueError(
                    "this model inpaints the mask without seeing the shadow: choose other weights"
                )
            return self._weights

    @property
    def detector(self) -> Detector:
        """The network that finds shadows, opened at the first use."""
        with _opening(self._opening_detector):
            if isinstance(self._detector, str | Path):
                self._detector = open_detector(self._detector, self._device, self._threads, self._runtime)
            return self._detector

    def open_ahead(self) -> None:
        """Start to open the networks in other threads; an error is raised where a network is used."""
        for name, network in (("detector", self._detector), ("backend", self._weights)):
            if isinstance(network, str | Path):
                Thread(target=self._try_to_open, args=[name]).start()

    def _try_to_open(self, network: str) -> None:
        with suppress(Exception):  # the error is raised again where the network is used
            getattr(self, network)

    def detect(self, pixels: Picture) -> Field:
        """(H, W, 3) sRGB in [0, 1] → (H, W) in [0, 1]: the probability that a pixel lies in a shadow."""
        return detect.detect_shadows(self.detector, pixels)

    def find_shadows(self, pixels: Picture, sensitivity: Sensitivity = "normal") -> Labels:
        """(H, W, 3) sRGB in [0, 1] → (H, W): 0 outside shadows, 1, 2, … in each, from the largest."""
        return masks.label_shadows(self.detect(pixels), certainty.THRESHOLD, certainty.CORE[sensitivity])

    def find_unsure(
        self, pixels: Picture, labels: Labels, sensitivity: Sensitivity = "normal"
    ) -> tuple[int, ...]:
        """The numbers of those found shadows (H, W) of (H, W, 3) that may be something else."""
        return certainty.find_unsure(self.detector, pixels, labels, sensitivity)

    def select(
        self,
        pixels: Picture,
        mask: NDArray[Any] | None = None,
        options: RemovalOptions = RemovalOptions(),  # noqa: B008 (immutable)
    ) -> Selection:
        """Select shadows of (H, W, 3) by `at`, `instance` and `exclude` of the options.

        `mask` (h, w), of the picture's shape at any size, is 1 (or 255) in the shadow. Without one the
        shadows are found, and unless some are named, those that may be something else are left out. Found
        shadows that a mask hardly covers are protected.
        """
        height, width = pixels.shape[:2]
        given, unsure = None, tuple[int, ...]()
        if mask is None:
            labels = self.find_shadows(pixels, options.sensitivity)
            if not (options.at or options.instance):
                unsure = self.find_unsure(pixels, labels, options.sensitivity)
        else:
            given = masks.as_mask(mask, height, width, options.invert_mask)
            if not (options.at or options.instance or options.exclude):
                return select_painted(given, self.find_shadows(pixels, options.sensitivity))
            labels = masks.label_shadows(given)
        return select(
            labels,
            given,
            at=options.at,
            instances=options.instance,
            exclude=options.exclude,
            unsure=unsure,
        )

    def relight(
        self,
        pixels: Picture,
        selection: Selection | None = None,
        options: RemovalOptions = RemovalOptions(),  # noqa: B008 (immutable)
        progress: Report | None = None,
    ) -> RemovalResult | None:
        """Remove the selected shadows from (H, W, 3) sRGB in [0, 1]; None if nothing is selected.

        Without a selection the shadows are found, and selected by the options; a given selection is final, so
        `at`, `instance`, `exclude`, `invert_mask` and `sensitivity` have no effect on it. An exception that
        `progress` raises ends the work; an `EndEarlyError` between two windows keeps what is done.
        """
        if len(pixels.shape) != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
            raise ValueError(f"a picture is (height, width, 3), not {pixels.shape}")
        if selection is not None and selection.mask.shape != pixels.shape[:2]:
            raise ValueError(
                f"a selection of {selection.mask.shape} does not fit a picture of {pixels.shape[:2]}"
            )
        report: Report = progress or (lambda _: None)
        report(Progress(0.0, "detect"))
        if selection is None:
            self.open_ahead()  # while the shadows are found
            selection = self.select(pixels, None, options)
        backend = self.backend
        backend.config.schedule.times(options.steps)
        release_freed_memory()  # of detection, and of opening the networks, before they need the most
        weight = weigh(selection, options.dilate, options.feather)
        if not selection.mask.any() or not weight.any():
            return None
        report(Progress(0.1, "quick"))
        span = 0.1 if options.mode == "removal" else 0.85

        def advance(share: float) -> None:
            report(Progress(0.1 + span * share, "quick"))

        relit = quick(backend, pixels, selection, weight, options, advance)
        if options.mode == "removal":
            relit = removal(backend, pixels, selection, weight, relit, options, report)
        release_freed_memory()  # of the networks, before the photo is relit
        relit = apply_strength(pixels, relit, options.strength)
        report(Progress(1.0, "windows" if options.mode == "removal" else "quick"))
        return RemovalResult(relit, weight, selection.mask, selection.found, selection.left_out)

    def remove(self, image: Image, mask: Any = None, **options: Any) -> Image:
        """The image without its shadows, of the same type; for a path, a Pillow image.

        `image` is the bytes of a file, a Pillow image, a numpy array (H, W, 3), a torch tensor (3, H, W) or
        (B, 3, H, W), or a path. `mask` is any of these, 1 (or 255) in the shadow. The options are the fields
        of `deshadow.removal.options.RemovalOptions`; `sensitivity="high"` also removes what may not be a
        shadow.
        """
        parsed = parse_options(options)

        def change(pixels: Picture, own: NDArray[Any] | None) -> inputs.Change | None:
            selection = None if own is None else self.select(pixels, own, parsed)
            found = self.relight(pixels, selection, parsed)
            return None if found is None else (found.relit, found.weight)

        result: Image = inputs.change_image(image, mask, change)
        return result


def remove(image: Image, mask: Any = None, **options: Any) -> Image:
    """`Remover().remove` with the shipped weights, which stay open for the next call."""
    return _SHIPPED.remove(image, mask, **options)


@contextmanager
def _opening(lock: Lock) -> Iterator[None]:
    """Let one thread at a time open a network; an error becomes a WeightsError."""
    with lock:
        try:
            yield
        except (ValueError, OSError) as error:
            raise WeightsError(str(error)) from error


_SHIPPED = Remover()  # it opens its networks when they are first needed
