"""One selection decides what goes and what stays, however it is made."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import Oracle, find_darker, lighten
from PIL import Image

from deshadow.cli import app
from deshadow.removal import modes
from deshadow.removal import remover as removers
from deshadow.removal.balance import balance_colour
from deshadow.removal.masks import label_shadows
from deshadow.removal.options import RemovalOptions
from deshadow.removal.reach import downscale_protected, make_network_mask, weigh
from deshadow.removal.remover import Remover
from deshadow.removal.selection import Selection, select, select_painted, shadow_at


def squares(*places: tuple[int, int, int], size: tuple[int, int] = (100, 200)) -> np.ndarray:
    mask = np.zeros(size, np.float32)
    for top, left, side in places:
        mask[top : top + side, left : left + side] = 1
    return mask


def test_a_point_takes_the_shadow_under_it_or_just_beside_it() -> None:
    labels = label_shadows(squares((10, 10, 20), (50, 100, 40)))
    assert shadow_at(labels, 15, 15) == 2
    assert shadow_at(labels, 32, 15) == 2  # three pixels beside it
    with pytest.raises(ValueError, match="no shadow at 60,15"):
        shadow_at(labels, 60, 15)
    with pytest.raises(ValueError, match="outside the picture of 200 × 100"):
        shadow_at(labels, 200, 15)


def test_shadows_are_selected_by_point_by_number_and_by_exclusion() -> None:
    mask = squares((10, 10, 20), (50, 100, 40))
    labels = label_shadows(mask)

    def taken(**how: Any) -> set[int]:
        selection = select(labels, mask, **how)
        selected = set(np.unique(labels[selection.mask > 0]).tolist())
        stays = set() if selection.protected is None else set(np.unique(labels[selection.protected]).tolist())
        assert selected | stays == {1, 2}
        assert not selected & stays
        return selected

    assert taken() == {1, 2}
    assert taken(at=[(15, 15)]) == {2}
    assert taken(instances=[1]) == {1}
    assert taken(at=[(15, 15)], instances=[1]) == {1, 2}
    assert taken(exclude=[1]) == {2}
    assert taken(unsure=[2]) == {1}
    assert taken(unsure=[2], instances=[2]) == taken(unsure=[2], at=[(15, 15)]) == {2}
    assert [select(labels, unsure=[1, 2], exclude=number).left_out for number in ([], [2])] == [2, 1]
    with pytest.raises(ValueError, match="no shadow number 3: 2 shadows were found, numbers 1 to 2"):
        taken(instances=[3])


def test_a_soft_mask_stays_soft() -> None:
    mask = squares((10, 10, 20), (50, 100, 40)) * np.float32(0.8)
    labels = label_shadows(mask)
    assert select(labels, mask, instances=[2]).mask.max() == np.float32(0.8)
    assert select(labels, instances=[2]).mask.max() == 1


def test_a_painted_mask_does_not_reach_into_a_found_shadow_that_it_hardly_covers() -> None:
    labels = np.zeros((10, 20), np.uint8)
    labels[:, 5:10], labels[:, 12:] = 1, 2
    mask = np.zeros((10, 20), np.float32)
    mask[:, 5:13] = 1  # all of the first, an eighth of the second
    assert select_painted(mask, labels).protected is None
    mask[:5, 12] = 0  # half of that
    protected = select_painted(mask, labels).protected
    assert protected is not None
    assert (protected == ((labels == 2) & (mask == 0))).all()


def test_a_selection_of_another_size_is_refused() -> None:
    picture = np.full((40, 60, 3), 0.5, np.float32)
    with pytest.raises(ValueError, match=r"a selection of \(60, 40\) does not fit a picture of \(40, 60\)"):
        Remover(Oracle(lambda seen, _: seen)).relight(picture, Selection(np.ones((60, 40), np.float32)))
    with pytest.raises(ValueError, match="do not fit"):
        Selection(np.ones((60, 40), np.float32), np.ones((40, 60), bool))


LEFT = (0.25, 0.28, 0.34)
ONE, OTHER = np.s_[100:220, 100:220], np.s_[100:220, 228:300]
"""Two shadows, 8 pixels apart."""


@pytest.fixture
def remover(monkeypatch: pytest.MonkeyPatch) -> Remover:
    """The one that the library and the command line use as well."""
    remover = Remover(Oracle(lighten(LEFT)), find_darker)  # type: ignore[arg-type]
    monkeypatch.setattr(removers, "_SHIPPED", remover)
    monkeypatch.setattr(removers, "Remover", lambda *_, **__: remover)
    return remover


def photo() -> np.ndarray:
    rng = np.random.default_rng(0)
    picture = rng.uniform(190, 210, (300, 400, 3))
    picture[ONE] /= 2
    picture[OTHER] /= 2
    return picture.round().astype(np.uint8)


def test_library_and_command_line_remove_the_same_shadow_and_leave_the_other(
    remover: Remover, tmp_path: Path
) -> None:
    picture = photo()
    unit = picture.astype(np.float32) / np.float32(255)
    labels = remover.find_shadows(unit)
    assert labels.max() == 2
    found = remover.relight(unit, select(labels, instances=[1]))
    assert found is not None
    expected = np.where(found.weight[..., None] > 0, found.composite(unit) * 255, picture)
    results = [removers.remove(picture, at=(150, 150)), removers.remove(picture, instance=1)]
    results += [removers.remove(picture, exclude=2), removers.remove(picture, labels > 0, at=[(150, 150)])]
    Image.fromarray(picture).save(tmp_path / "photo.png")
    for flags in (["--at", "150,150"], ["--instance", "1"], ["--exclude", "2"]):
        with pytest.raises(SystemExit, match="0"):
            app.main([str(tmp_path / "photo.png"), "-o", str(tmp_path / "out.png"), *flags])
        results.append(np.asarray(Image.open(tmp_path / "out.png")))
    for result in results:
        np.testing.assert_array_equal(result, results[0])
        np.testing.assert_allclose(result, expected, atol=0.501)  # rounded
        np.testing.assert_array_equal(result[OTHER], picture[OTHER])
        assert (result[ONE].mean() - picture[ONE].mean()) > 60


@pytest.mark.parametrize("mode", ["quick", "removal"])
def test_neither_the_network_nor_the_balance_counts_the_other_shadow(
    mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, stays = list[np.ndarray](), list[np.ndarray | None]()

    class Watching(Oracle):
        def predict(self, noisy, t, picture, mask, guidance):  # type: ignore[no-untyped-def]
            seen.append(mask[0, 0])
            return super().predict(noisy, t, picture, mask, guidance)

    original = balance_colour

    def watch(relighting: Any, shadow: Any, inside: Any, protected: Any) -> Any:
        stays.append(protected)
        return original(relighting, shadow, inside, protected)

    monkeypatch.setattr(modes, "balance_colour", watch)
    remover = Remover(Watching(lighten(LEFT)), find_darker)  # type: ignore[arg-type]
    remover.relight(
        photo().astype(np.float32) / np.float32(255), None, RemovalOptions(mode=mode, instance=(1,))
    )
    assert not seen[0][OTHER].any()  # this photo is as large as what the network sees
    assert stays[0] is not None
    assert stays[0][OTHER].all()


def test_one_shadow_never_grows_into_another() -> None:
    mask = squares((40, 60, 20), (40, 84, 10))
    selection = select(label_shadows(mask), mask, instances=[1])
    for field in (weigh(selection, dilate=15, feather=4), make_network_mask(selection, 15, 100, 200)):
        assert field[50, 82] == 1
        assert not field[40:50, 84:94].any()
    protected = downscale_protected(selection, 100, 200)
    assert protected is not None
    assert protected[40:50, 84:94].all()
    assert protected.sum() == 100
