"""The copies of a photo that the detector sees, and how its results are joined."""

import numpy as np
import pytest
from numpy.typing import NDArray

from deshadow.diffusion.arrays import Array
from deshadow.removal.certainty import measure_certainty
from deshadow.removal.detect import detect_shadows


class Spy:
    """A detector that answers with 0.8 for a longer side of 256 pixels, and with 0.4 for others."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []

    def __call__(self, picture: Array) -> Array:
        assert isinstance(picture, np.ndarray)
        height, width = picture.shape[2:]
        self.sizes.append((height, width))
        return np.full((1, 1, height, width), 0.8 if max(height, width) == 256 else 0.4, np.float32)


@pytest.mark.parametrize(
    ("size", "seen", "probability"),
    [
        ((600, 800), {(384, 512), (192, 256)}, 0.6),
        ((300, 400), {(300, 400), (192, 256)}, 0.6),
        ((192, 256), {(192, 256)}, 0.8),
        ((30, 40), {(192, 256)}, 0.8),  # enlarged
        ((1, 1), {(256, 256)}, 0.8),
    ],
)
def test_the_probability_is_the_mean_of_a_look_at_details_and_one_at_the_whole(
    size: tuple[int, int], seen: set[tuple[int, int]], probability: float
) -> None:
    spy = Spy()
    found = detect_shadows(spy, np.full((*size, 3), 0.5, np.float32))  # type: ignore[arg-type]
    assert set(spy.sizes) == seen
    assert len(spy.sizes) == len(seen)
    assert found.shape == size
    np.testing.assert_allclose(found, probability, atol=1e-4)


class Painted:
    """A detector that takes what is dark for shadow, unless its edge is sharp to the pixel."""

    def __init__(self) -> None:
        self.passes = 0

    def __call__(self, picture: Array) -> Array:
        assert isinstance(picture, np.ndarray)
        self.passes += 1
        light = picture.mean(axis=1, keepdims=True)
        sharp = np.abs(np.diff(light, axis=3)).max() > 0.45
        return np.zeros_like(light) if sharp else (light < 0).astype(np.float32)


def half_dark(size: int) -> NDArray[np.float32]:
    photo = np.full((size // 2, size, 3), 0.8, np.float32)
    photo[:, size // 2 :] = 0.3
    return photo


def test_in_a_large_photo_the_detector_also_sees_soft_copies() -> None:
    found, looks = [], []
    for size in (900, 1100):
        detector = Painted()
        result = detect_shadows(detector, half_dark(size))  # type: ignore[arg-type]
        found.append(float(result[:, -size // 4 :].mean()))
        looks.append(detector.passes)
    assert looks == [2, 4]
    np.testing.assert_allclose(found, [0, 0.5], atol=0.01)


@pytest.mark.parametrize("width", [1300, 1700])
def test_every_part_of_a_long_photo_is_seen_as_soft_as_its_second_look(width: int) -> None:
    photo = np.full((520, width, 3), 0.8, np.float32)
    photo[:, width // 2 :] = 0.3
    labels = (photo[..., 0] < 0.5).astype(np.int32)
    found = detect_shadows(Painted(), photo)  # type: ignore[arg-type]
    certainty = measure_certainty(Painted(), photo, labels)  # type: ignore[arg-type]
    np.testing.assert_allclose([found[:, -200:].mean(), certainty[0]], 0.5, atol=0.02)


def test_a_second_look_at_a_large_photo_is_soft_as_well() -> None:
    for size, least, most in ((900, 0.0, 0.01), (1100, 0.49, 0.51)):
        photo = half_dark(size)
        labels = (photo[..., 0] < 0.5).astype(np.int32)
        certainty = measure_certainty(Painted(), photo, labels)  # type: ignore[arg-type]
        assert least <= certainty[0] <= most
