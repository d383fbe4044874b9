import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter

from deshadow.data.synth.penumbra import soften


def edge(size: int = 128) -> torch.Tensor:
    picture = torch.zeros(1, 1, size, size)
    picture[..., size // 2 :] = 1
    return picture


@pytest.mark.parametrize("sigma", [0.8, 1.2, 2.4, 3.5, 5.0, 9.0])
def test_an_edge_blurs_as_by_a_gaussian(sigma: float) -> None:
    blurred = soften(edge(), torch.full((1, 1, 32, 32), sigma))[0, 0, 64].numpy()
    wanted = gaussian_filter(edge()[0, 0].numpy(), sigma, mode="nearest")[64]
    assert float(np.abs(blurred - wanted).max()) < 0.06


def test_no_width_leaves_the_picture_as_it_is() -> None:
    assert torch.equal(soften(edge(), torch.zeros(1, 1, 32, 32)), edge())


def test_a_flat_picture_stays_flat() -> None:
    flat = torch.full((2, 1, 50, 37), 0.7)
    assert torch.allclose(soften(flat, torch.full((2, 1, 13, 10), 7.0)), flat, atol=1e-5)
