import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deshadow.image.filters import box_filter


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 45), st.booleans())
def test_a_box_is_the_mean_of_what_lies_in_the_picture(
    height: int, width: int, radius: int, colour: bool
) -> None:
    shape = (height, width, 3) if colour else (height, width)
    field = np.random.default_rng(0).uniform(size=shape).astype(np.float32)
    found = box_filter(field, radius)
    assert found.dtype == np.float32
    for row, column in ((0, 0), (height // 2, width // 2), (height - 1, width - 1)):
        rows = slice(max(0, row - radius), row + radius + 1)
        columns = slice(max(0, column - radius), column + radius + 1)
        np.testing.assert_allclose(found[row, column], field[rows, columns].mean((0, 1)), rtol=1e-5)
