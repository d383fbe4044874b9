"""The copies of a photo that the detector sees, and how its results are joined."""

import numpy as np
import pytest

from deshadow.diffusion.arrays import Array
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
