"""Guidances as pictures: which values are black and white, and what their order says."""

import numpy as np

from deshadow.image.guidance import Span, draw_guidance, find_span


def test_a_latent_is_drawn_from_its_1st_percentile_to_its_99th() -> None:
    latent = np.linspace(-3, 3, 10_000, dtype=np.float32).reshape(1, 100, 100)
    latent[0, 0, 0] = 1e6  # one spike must not hide the rest
    span = find_span(latent, "latent")
    np.testing.assert_allclose(span, (-2.94, 2.94), atol=0.01)
    drawn = draw_guidance(latent, span)
    assert drawn.shape == (100, 100, 3)
    assert (drawn[..., 0] == drawn[..., 2]).all()
    assert [drawn[1, 0, 0], drawn[99, 99, 0]] == [0, 255]
    assert abs(int(drawn[50, 0, 0]) - 127) <= 1


def test_a_coarse_picture_is_drawn_as_a_picture_and_colours_stay_apart() -> None:
    coarse = np.zeros((3, 8, 8), np.float32)
    coarse[0], coarse[1] = 1, -1
    assert (draw_guidance(coarse, find_span(coarse, "coarse")) == (255, 0, 128)).all()
    colours = np.full((2, 3, 8, 8), -1 / 3, np.float32)  # a third of the light each: grey
    colours[:, :, :4] = np.array([1 / 3, -1, -1 / 3]).reshape(3, 1, 1)
    drawn = draw_guidance(colours, find_span(colours, "colour"))
    assert drawn.shape == (2, 8, 8, 3)
    assert (drawn[:, :4] == (255, 0, 128)).all()
    assert (drawn[:, 4:] == 128).all()


def test_a_constant_latent_is_plain_grey_not_its_rounding_errors() -> None:
    latent = np.float32(0.25) + 1e-7 * np.random.default_rng(0).standard_normal((1, 16, 16))
    drawn = draw_guidance(latent.astype(np.float32), find_span(latent.astype(np.float32), "latent"))
    assert set(np.unique(drawn)) <= {127, 128}


def test_a_span_is_written_with_two_decimals() -> None:
    assert str(Span(-0.4211, 0.6)) == "-0.42 to 0.60"
