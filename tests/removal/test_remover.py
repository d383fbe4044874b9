import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath
from threading import Event
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Oracle, answer, blob, darkened, detailed, find_darker, lighten, unit
from PIL import Image

from deshadow.image.colour import srgb_to_lab
from deshadow.image.strips import ComputedPicture
from deshadow.metrics.scores import gradient_energy, lab_difference
from deshadow.removal import crop, windows
from deshadow.removal import remover as remover_module
from deshadow.removal.modes import EndEarlyError, Progress
from deshadow.removal.options import RemovalOptions, parse_options
from deshadow.removal.process import LocalFiles, PhotoRequest, try_photo
from deshadow.removal.reach import NETWORK_SIDE
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection
from deshadow.removal.tasks import PhotoTask
from deshadow.runtime.open import open_backend

LEFT = (0.25, 0.28, 0.34)
MODES: tuple[Literal["quick", "removal"], ...] = ("quick", "removal")


def remover() -> Remover:
    return Remover(Oracle(lighten(LEFT)), find_darker)  # type: ignore[arg-type]


def all_of(mask: np.ndarray) -> Selection:
    return Selection(mask.astype(np.float32))


def plain(height: int = 120, width: int = 200) -> np.ndarray:
    """Two shadows on light grey, one of them large."""
    picture = np.full((height, width, 3), 0.8, np.float32)
    picture[20:60, 20:60] = picture[20:40, 120:140] = 0.4
    return picture


@pytest.mark.parametrize("mode", ["quick", "removal"])
def test_the_truth_comes_out_sharp_and_of_the_right_colour(
    mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crop, "MARGIN", NETWORK_SIDE)  # the answer is for all of the photo
    truth, shade = detailed(600, 800), blob(600, 800, 3.0)
    photo = darkened(truth, shade, LEFT)
    oracle = Oracle(answer(truth) if mode == "quick" else lighten(LEFT))
    found = Remover(oracle).relight(unit(photo), all_of(shade > 0.5), RemovalOptions(mode=mode, dilate=4))
    assert found is not None
    result = (found.composite(unit(photo)) * 255).round().astype(np.uint8)
    inside = shade > 0.9
    energy = gradient_energy(srgb_to_lab(result)[..., 0], srgb_to_lab(truth)[..., 0], inside)
    assert 0.85 < energy.result / energy.truth < 1.15
    assert lab_difference(result, truth, inside) < 4
    assert (result[found.weight == 0] == photo[found.weight == 0]).all()


def test_windows_that_find_nothing_leave_what_quick_found(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, shade = detailed(300, 400), blob(300, 400, 3.0)
    photo = unit(darkened(truth, shade, LEFT))
    monkeypatch.setattr(windows, "lay_out", lambda *_: [])
    monkeypatch.setattr(crop, "MARGIN", NETWORK_SIDE)
    both = [
        Remover(Oracle(answer(truth))).relight(photo, all_of(shade > 0.5), RemovalOptions(mode=m))
        for m in MODES
    ]
    assert both[0] is not None
    assert both[1] is not None
    np.testing.assert_allclose(both[1].pixels, both[0].pixels, atol=1e-5)


def test_previews_are_as_strong_as_the_result() -> None:
    photo, seen = plain(), list[Progress]()
    found = remover().relight(photo, None, RemovalOptions(mode="removal", strength=0.3), seen.append)
    assert found is not None
    assert seen[-2].preview is not None
    np.testing.assert_allclose(seen[-2].preview(), found.composite(photo), atol=1e-5)


def test_shadows_are_found_where_no_mask_is_given() -> None:
    found = remover().relight(plain())
    assert found is not None
    assert found.mask[30, 30] == 1
    assert (found.composite(plain())[30, 30] > 0.6).all()
    assert remover().find_shadows(plain()).max() == 2


def test_one_shadow_is_removed_and_the_other_stays_to_the_bit() -> None:
    for choice in (
        RemovalOptions(at=((130, 30),)),
        RemovalOptions(instance=(2,)),
        RemovalOptions(exclude=(1,)),
    ):
        found = remover().relight(plain(), None, choice)
        assert found is not None
        result = found.composite(plain())
        assert (result[20:60, 20:60] == plain()[20:60, 20:60]).all()
        assert (result[22:38, 122:138] > 0.6).all()


@pytest.mark.parametrize("selection", [None, Selection(np.zeros((120, 200), np.float32))])
def test_no_shadow_gives_none(selection: Selection | None) -> None:
    assert remover().relight(np.full((120, 200, 3), 0.9, np.float32), selection) is None


def test_the_type_that_goes_in_comes_out() -> None:
    array = (plain() * 255).round().astype(np.uint8)
    result = remover().remove(array)
    assert result.dtype == np.uint8
    assert result[30, 30, 0] > 170
    image = remover().remove(Image.fromarray(array), at=(30, 30))
    assert (np.asarray(image)[20:40, 120:140] == array[20:40, 120:140]).all()
    assert np.asarray(image)[30, 30, 0] > 170


def test_the_same_seed_gives_the_same_picture_from_any_thread(exported: Any) -> None:
    shared, photo = Remover(exported, threads=1), plain()
    mask = photo[..., 0] < 0.5

    def run(seed: int) -> np.ndarray:
        found = shared.relight(photo, all_of(mask), RemovalOptions(mode="removal", seed=seed))
        assert found is not None
        return found.pixels

    with ThreadPoolExecutor(4) as pool:
        first, second, other, third = pool.map(run, [1, 1, 2, 1])
    assert (first == second).all()
    assert (first == third).all()
    assert (first != other).any()


def test_progress_rises_shows_the_picture_and_can_cancel() -> None:
    told: list[Progress] = []
    photo = np.tile(plain(), (3, 3, 1))
    remover().relight(photo, all_of(photo[..., 0] < 0.5), RemovalOptions(mode="removal"), told.append)
    shares = [each.share for each in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert [each.stage for each in told][:2] == ["detect", "quick"]
    shown = next(each.preview for each in told if each.done == each.total > 0)
    assert shown is not None
    assert shown().shape == photo.shape
    assert shown()[30, 30, 0] > 0.6

    class EnoughError(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.stage == "windows":
            raise EnoughError

    with pytest.raises(EnoughError):
        remover().relight(photo, all_of(photo[..., 0] < 0.5), RemovalOptions(mode="removal"), stop)


def test_a_removal_that_is_ended_early_keeps_the_windows_that_are_done() -> None:
    photo = plain(400, 900)
    photo[20:60, 700:800] = 0.4
    previews: list[np.ndarray] = []

    def end_after(windows: int) -> np.ndarray:
        def report(progress: Progress) -> None:
            if progress.stage == "windows" and progress.total and progress.done == windows:
                assert progress.preview is not None
                previews.append(progress.preview())
                raise EndEarlyError

        options = RemovalOptions(mode="removal")
        found = remover().relight(photo, all_of(photo[..., 0] < 0.5), options, report)
        assert found is not None
        return found.composite(photo)

    none, one, quick = end_after(0), end_after(1), remover().relight(photo, all_of(photo[..., 0] < 0.5))
    assert quick is not None
    assert np.abs(none - quick.composite(photo)).max() < 1e-6
    assert np.abs(one - previews[1]).max() < 1e-6
    assert np.abs(one - none).max() > 0


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([(1, 1), (8, 8), (3, 2000), (2000, 3), (1, 257), (255, 513)]), st.data())
def test_odd_sizes_are_kept_and_untouched_outside(size: tuple[int, int], draw: st.DataObject) -> None:
    rng = np.random.default_rng(draw.draw(st.integers(0, 99)))
    photo = rng.uniform(size=(*size, 3)).astype(np.float32)
    mask = rng.uniform(size=size) > 0.9
    mode: Any = draw.draw(st.sampled_from(["quick", "removal"]))
    strength = draw.draw(st.sampled_from([0.0, 0.4, 1.0]))
    options = RemovalOptions(mode=mode, strength=strength, dilate=1, feather=0)
    found = remover().relight(photo, all_of(mask), options)
    if not mask.any():
        assert found is None
        return
    assert found is not None
    result = found.composite(photo)
    assert result.shape == photo.shape
    assert np.isfinite(result).all()
    assert (result[found.weight == 0] == photo[found.weight == 0]).all()
    if not strength:
        assert (result == photo).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "slow"}, "unknown mode 'slow': choose from quick, removal"),
        ({"strength": 1.5}, "strength is 1.5: it must be from 0 to 1"),
        ({"dilate": -1}, "dilate is -1"),
        ({"steps": 0}, "steps is 0"),
        ({"feather": float("nan")}, "feather is nan"),
        ({"speed": 3}, "unknown option 'speed'"),
        ({"steps": 1.5}, "steps is 1.5: it must be a whole number"),
        ({"strength": "half"}, "strength is 'half': it must be a number"),
        ({"at": 5}, "at is 5: give points x, y"),
        ({"instance": "first"}, "instance is 'first': give numbers of shadows"),
    ],
)
def test_wrong_options_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_options(given)


def test_missing_weights_say_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"no weights 'none-such'.*a path to a \.safetensors file works too"):
        Remover("none-such").relight(plain(), all_of(np.ones((120, 200))))


def test_the_package_is_imported_without_numpy() -> None:
    program = "import sys, deshadow; assert 'numpy' not in sys.modules; deshadow.remove, deshadow.Remover"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_networks_are_opened_while_the_photo_is_read(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Event()

    def open_and_tell(*given: Any) -> Any:
        try:
            return open_backend(*given)
        finally:
            opened.set()

    class SlowFiles(LocalFiles):
        def read(self, path: PurePath | None) -> bytes:
            assert opened.wait(60)
            return super().read(path)

    monkeypatch.setattr(remover_module, "open_backend", open_and_tell)
    photo = tmp_path / "photo.png"
    Image.fromarray((plain() * 255).astype(np.uint8)).save(photo)
    task = PhotoTask(photo, tmp_path / "result.png")
    shared = Remover(exported, find_darker)  # type: ignore[arg-type]
    outcome = try_photo(task, PhotoRequest(), RemovalOptions(), shared, SlowFiles(), lambda _: None)
    assert outcome.state == "done", outcome.error


@pytest.mark.parametrize("mode", MODES)
def test_a_large_photo_is_read_in_strips(mode: Literal["quick", "removal"]) -> None:
    photo, read = np.tile(plain(), (8, 8, 1)), list[int]()

    def compute(rows: slice, columns: slice) -> np.ndarray:
        read.append((rows.stop - rows.start) * (columns.stop - columns.start))
        return photo[rows, columns]

    picture = ComputedPicture(photo.shape, compute)
    found = remover().relight(picture, None, RemovalOptions(mode=mode, strength=0.8))
    assert found is not None
    assert (found.composite(picture)[30, 30] > 0.6).all()
    assert max(read) < photo[..., 0].size / 10
