import numpy as np
import pytest

from deshadow.removal import masks


def squares(*places: tuple[int, int, int], size: tuple[int, int] = (100, 200)) -> np.ndarray:
    mask = np.zeros(size, np.float32)
    for top, left, side in places:
        mask[top : top + side, left : left + side] = 1
    return mask


@pytest.mark.parametrize(
    "picture",
    [
        np.array([[0, 255]], np.uint8),
        np.array([[0, 1]], np.uint8),
        np.array([[0, 100]], np.uint8),  # a dark grey
        np.array([[0, 127]], np.uint8),
        np.array([[0, 20_000]], np.uint16),
        np.array([[[0, 0, 0], [255, 0, 0]]], np.uint8),  # painted in red
        np.array([[[0, 0, 0], [1, 1, 1]]], np.uint8),
        np.array([[False, True]]),
        np.array([[0, 65535]], np.uint16),
        np.array([[0.0, 1.0]]),
        np.array([[-0.1, 1.1]]),  # as resizing leaves them
        np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8),
        np.array([[[255, 255, 255, 0], [255, 255, 255, 255]]], np.uint8),  # opacity counts
    ],
)
def test_any_picture_is_a_mask(picture: np.ndarray) -> None:
    assert masks.as_mask(picture, 1, 2).tolist() == [[0, 1]]
    assert masks.as_mask(picture, 1, 2, invert=True).tolist() == [[1, 0]]


def test_a_mask_of_another_size_fits_and_stays_soft() -> None:
    mask = masks.as_mask(np.array([[0, 128], [0, 255]], np.uint8), 40, 60)
    assert mask.shape == (40, 60)
    assert mask[:, :10].max() == 0
    assert mask[0, -1] == pytest.approx(128 / 255, abs=1e-3)
    floats = masks.as_mask(np.array([[0, 128], [0, 255]], np.float64), 40, 60)
    assert np.array_equal(floats, mask)


@pytest.mark.parametrize(
    ("mask", "photo"),
    [
        ((384, 512), (3000, 4001)),
        ((34, 512), (800, 12_000)),
        ((5, 512), (400, 40_000)),
        ((2998, 4000), (3000, 4000)),
    ],
)
def test_a_mask_may_miss_the_shape_of_the_photo_by_a_pixel_or_two(
    mask: tuple[int, int], photo: tuple[int, int]
) -> None:
    masks.check_shape(mask, *photo)
    masks.check_shape(photo, *mask)


@pytest.mark.parametrize(
    ("mask", "photo"), [((512, 512), (400, 600)), ((600, 400), (400, 600)), ((2990, 4000), (3000, 4000))]
)
def test_a_mask_of_another_shape_is_refused_with_both_sizes(
    mask: tuple[int, int], photo: tuple[int, int]
) -> None:
    sizes = f"{mask[1]} × {mask[0]} pixels and the photo {photo[1]} × {photo[0]}"
    with pytest.raises(ValueError, match=sizes):
        masks.as_mask(np.ones(mask), *photo)


def test_a_mask_of_several_levels_keeps_them() -> None:
    levels = np.array([[0, 64, 128, 255]], np.uint8)
    np.testing.assert_allclose(masks.as_mask(levels, 1, 4), levels / 255, atol=1e-6)
    dark = np.array([[0, 30, 60, 120]], np.uint8)
    np.testing.assert_allclose(masks.as_mask(dark, 1, 4), dark / 120, atol=1e-6)
    faint = np.array([[0, 0.1, 0.4]])  # probabilities
    np.testing.assert_allclose(masks.as_mask(faint, 1, 3), faint, atol=1e-6)
    assert not masks.as_mask(np.zeros((4, 4), np.uint8), 4, 4).any()
    noise = np.array([[0, 3, 2]], np.uint8)  # what a codec leaves of black
    assert masks.as_mask(noise, 1, 3).max() < 0.02


@pytest.mark.parametrize(
    "bad",
    [np.zeros((3,)), np.full((2, 2), np.nan), np.full((2, 2), -1), np.full((2, 2), -1.0), np.zeros((0, 4))],
)
def test_what_is_no_mask_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="mask"):
        masks.as_mask(bad, 4, 4)


def test_shadows_are_numbered_from_the_largest_and_specks_dropped() -> None:
    labels = masks.label_shadows(squares((10, 10, 20), (50, 100, 40), (5, 190, 2)))
    assert labels[20, 20] == 2
    assert labels[60, 110] == 1
    assert labels.max() == 2
    assert labels[6, 191] == 0


@pytest.mark.parametrize("size", [1, 12])
def test_a_shadow_reaches_as_far_as_it_is_faintly_seen_but_must_be_clear_somewhere(size: int) -> None:
    probability = np.zeros((100, 200), np.float32)
    probability[20:40, 20:80] = 0.35  # the faint end of a shadow
    probability[20:40, 60:80] = 0.6
    probability[60:80, 120:180] = 0.35
    probability[60:62, 120:122] = 0.6  # a speck
    labels = masks.label_shadows(probability.repeat(size, 0).repeat(size, 1), 0.3, 0.5)
    assert labels.max() == 1
    assert (labels[20 * size : 40 * size, 20 * size : 80 * size] == 1).all()
    assert (labels > 0).sum() == 20 * 60 * size**2
    assert masks.label_shadows(probability, 0.3).max() == 2


def test_large_pictures_keep_their_outlines() -> None:
    mask = squares((101, 203, 333), (901, 1807, 555), size=(1500, 2500))
    labels = masks.label_shadows(mask)
    assert ((labels > 0) == (mask > 0)).all()
    assert labels[1000, 1900] == 1
