import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deshadow.removal.reach import weigh
from deshadow.removal.selection import Selection


def test_a_removal_reaches_as_far_as_it_says() -> None:
    mask = np.zeros((100, 200), np.float32)
    mask[40:60, 60:80] = 1
    weight = weigh(Selection(mask), dilate=5, feather=3)
    assert (weight[35:65, 55:85] == 1).all()  # five pixels wider on every side
    assert 0 < weight[50, 86] < 1  # then it fades
    assert not weight[:, 88:].any()
    assert not weight[:32].any()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 700), st.integers(0, 20), st.integers(0, 8))
def test_any_size_has_a_reach(height: int, width: int, dilate: int, feather: int) -> None:
    mask = np.zeros((height, width), np.float32)
    mask[height // 2, width // 2] = 1
    weight = weigh(Selection(mask), dilate, feather)
    assert weight.shape == mask.shape
    assert weight[height // 2, width // 2] == 1
    assert 0 <= weight.min() <= weight.max() <= 1
