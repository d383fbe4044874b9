import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Oracle

from deshadow.image.morphology import dilate, dilation_radius
from deshadow.removal import windows
from deshadow.removal.options import RemovalOptions
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection


def refined(oracle: Oracle, shadow: np.ndarray, quick: np.ndarray, mask: np.ndarray) -> np.ndarray:
    places = windows.lay_out(mask)
    states = list(windows.refine(oracle, shadow, quick, mask, places, steps=1, sampler="ddim", seed=0))
    assert len(states) == len(places) == oracle.passes
    return states[-1]()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 900), st.integers(1, 900), st.integers(0, 2**32 - 1))
def test_windows_cover_the_mask_and_nothing_far_from_it(height: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = np.zeros((height, width), np.float32)
    top, left = rng.integers(height), rng.integers(width)
    weight[top : top + rng.integers(1, 400), left : left + rng.integers(1, 400)] = 1
    covered = np.zeros((height, width), bool)
    for window in windows.lay_out(weight):
        assert weight[window.place].any()
        sides = min(windows.WINDOW_SIDE, height), min(windows.WINDOW_SIDE, width)
        assert weight[window.place].shape == sides
        covered[window.place] = True
    assert covered[weight > 0].all()


def test_no_mask_no_windows() -> None:
    assert windows.lay_out(np.zeros((300, 300), np.float32)) == []


def test_windows_that_disagree_in_exposure_leave_no_seams() -> None:
    rng = np.random.default_rng(0)
    shadow = rng.uniform(0.2, 0.3, (900, 1200, 3)).astype(np.float32)
    quick, mask = shadow * 2, np.ones((900, 1200), np.float32)
    calls = iter([0.0, 0.2, -0.2, 0.1, -0.1, 0.3] * 20)
    oracle = Oracle(lambda picture, _: ((picture + 1) * 2 - 1 + next(calls)).astype(np.float32))
    result = refined(oracle, shadow, quick, mask)
    across = np.abs(np.diff(result.mean(axis=2), axis=1))
    borders = {edge for w in windows.lay_out(mask) for edge in (w.left, w.left + w.width) if 0 < edge < 1200}
    at_borders = np.concatenate([across[:, edge - 1] for edge in borders])
    inside = np.delete(across, [edge - 1 for edge in borders], axis=1)
    assert at_borders.mean() == pytest.approx(inside.mean(), rel=0.03)
    # And what is coarse is Quick's: no window has moved the exposure.
    tiles = (result - quick)[:896, :1184].reshape(28, 32, 37, 32, 3).mean(axis=(1, 3))
    assert np.abs(tiles).max() < 0.05


def test_windows_know_what_quick_found() -> None:
    seen: list[float] = []

    class Watching(Oracle):
        def predict(self, noisy, t, picture, mask, guidance):  # type: ignore[no-untyped-def]
            a, _ = self.config.schedule.level(t)
            seen.append(float(noisy.mean() / a))
            return super().predict(noisy, t, picture, mask, guidance)

    shadow = np.full((256, 256, 3), 0.1, np.float32)
    quick = np.full((256, 256, 3), 0.8, np.float32)
    refined(Watching(lambda picture, _: picture), shadow, quick, np.ones((256, 256), np.float32))
    assert seen == [pytest.approx(0.6, abs=0.05)]


def test_removal_ends_within_its_windows_and_leaves_quick_as_it_is_beyond() -> None:
    rng = np.random.default_rng(0)
    photo = rng.uniform(0.3, 0.7, (600, 800, 3)).astype(np.float32)
    mask = np.zeros((600, 800), np.float32)
    mask[250:350, 300:500] = 1
    blur = Oracle(lambda picture, _: ((picture + np.roll(picture, 1, axis=3)) / 2).astype(np.float32))
    quick = Remover(blur).relight(photo, Selection(mask))
    removal = Remover(blur).relight(photo, Selection(mask), RemovalOptions(mode="removal"))
    assert quick is not None
    assert removal is not None
    changed = np.abs(removal.composite(photo) - quick.composite(photo)).max(axis=2) > 1e-6
    beyond = dilate(mask, dilation_radius(600, 800) + windows.OVERLAP // 2) == 0
    assert changed[mask > 0].mean() > 0.9
    assert not changed[beyond].any()
    assert (removal.weight[beyond] > 0).any()
