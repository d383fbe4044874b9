import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import Oracle
from scenes import give, scene

from deshadow.evaluation.models import Sampling, make_network_remover
from deshadow.image.morphology import dilate, dilate_round, dilation_radius, erode, measure_distance
from deshadow.image.resize import PROTOCOL_SIDE, nearest
from deshadow.removal import reach
from deshadow.removal.options import RemovalOptions
from deshadow.removal.selection import Selection
from deshadow.training.batches import dilate_masks

SHAPES = {"square": (256, 256), "portrait": (300, 200), "landscape": (96, 300)}


def test_dilation_is_a_square_around_every_pixel() -> None:
    mask = np.where(np.random.default_rng(0).random((40, 50)) > 0.99, np.uint8(255), np.uint8(0))
    expected = np.zeros_like(mask)
    for row, column in np.argwhere(mask):
        expected[max(row - 10, 0) : row + 11, max(column - 10, 0) : column + 11] = 255
    np.testing.assert_array_equal(dilate(mask, 10), expected)
    np.testing.assert_array_equal(dilate(mask, 0), mask)


@pytest.mark.parametrize("radius", [0, 1, 2, 7, 60])
def test_a_round_dilation_is_a_disc_around_every_pixel(radius: int) -> None:
    mask = np.where(np.random.default_rng(0).random((40, 50)) > 0.99, np.float32(0.7), np.float32(0))
    rows, columns = np.mgrid[:40, :50]
    expected = np.zeros_like(mask)
    for row, column in np.argwhere(mask):
        expected[(rows - row) ** 2 + (columns - column) ** 2 <= radius**2] = 0.7
    np.testing.assert_array_equal(dilate_round(mask, radius), expected)


def test_erosion_takes_a_dilation_back() -> None:
    mask = torch.zeros(1, 1, 64, 64, dtype=torch.bool)
    mask[..., 30:35, 30:35] = True
    wide = dilate(mask, 10)
    assert wide.dtype == torch.bool
    assert wide[0, 0, 32].nonzero().flatten().tolist() == list(range(20, 45))
    assert torch.equal(erode(wide, 10), mask)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 25), st.sampled_from(["bool", "float32"]))
def test_numpy_and_torch_give_the_same(height: int, width: int, radius: int, dtype: str) -> None:
    values = np.random.default_rng(radius).random((height, width))
    mask = (values > 0.7) if dtype == "bool" else values.astype(np.float32)
    for change in (dilate, erode):
        ours = change(mask, radius)
        theirs = change(torch.from_numpy(mask)[None, None], radius)[0, 0].numpy()
        assert ours.dtype == theirs.dtype == mask.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("height", "width", "radius"),
    [
        (256, 256, 10),
        (512, 512, 20),
        (384, 512, 15),
        (512, 384, 15),
        (128, 1000, 5),
        (640, 640, 25),
        (9, 9, 1),
    ],
)
def test_the_radius_is_ten_pixels_of_a_shorter_side_of_256(height: int, width: int, radius: int) -> None:
    assert dilation_radius(height, width) == radius


@pytest.mark.parametrize("shape", SHAPES)
def test_training_evaluation_and_removal_dilate_by_this_radius(shape: str) -> None:
    height, width = SHAPES[shape]
    picture, mask, _ = scene(height, width)
    expected = dilate(mask > 0, dilation_radius(height, width)).astype(np.float32)
    trained = dilate_masks(torch.from_numpy(mask > 0)[None, None])
    np.testing.assert_array_equal(trained[0, 0].numpy(), expected)
    selection = Selection((mask > 0).astype(np.float32))
    removed = reach.make_network_mask(selection, RemovalOptions().dilate, height, width)
    np.testing.assert_array_equal(removed, expected)
    seen: list[np.ndarray] = []

    def note(picture: np.ndarray, mask: np.ndarray) -> np.ndarray:
        seen.append(mask)
        return picture

    make_network_remover(Oracle(note), Sampling(1))(give(picture, mask))
    small = nearest(mask, PROTOCOL_SIDE, PROTOCOL_SIDE) > 0
    np.testing.assert_array_equal(
        seen[0][0, 0] > 0, dilate(small, dilation_radius(PROTOCOL_SIDE, PROTOCOL_SIDE))
    )


@pytest.mark.parametrize("most", [0, 1, 5, 40])
def test_distances_are_those_to_the_nearest_pixel_of_the_mask(most: int) -> None:
    mask = np.random.default_rng(0).random((23, 31)) > 0.98
    rows, columns = np.nonzero(mask)
    y, x = np.mgrid[:23, :31]
    true = np.hypot(y[..., None] - rows, x[..., None] - columns).min(axis=2)
    found = measure_distance(mask, most)
    near = true <= most
    np.testing.assert_allclose(found[near], true[near], rtol=1e-6)
    assert (found[~near] > most).all()
    assert (measure_distance(np.zeros((4, 5), np.bool_), most) == most + 1).all()
