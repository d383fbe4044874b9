"""SRD from its download to shards: which pairs are validated on, which are left out, what is written."""

import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scenes import scene

from deshadow.cli.app import main
from deshadow.data.pairs.derive import derive_mask
from deshadow.data.pairs.find import find
from deshadow.data.pairs.prepare import list_validation_scenes, prepare_srd

FIRST = next(names for names in list_validation_scenes() if len(names) == 2)


def write_pair(folder: Path, name: str, picture: np.ndarray, clean: np.ndarray, large: bool = False) -> None:
    for part, ending, pixels in (("shadow", "", picture), ("shadow_free", "_no_shadow", clean)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(pixels)
        if large:
            image = image.resize((840, 640), Image.Resampling.BICUBIC)
        image.save(folder / part / f"{name}{ending}.png")


@pytest.fixture
def download(tmp_path: Path) -> Path:
    """A validation scene with one picture too many, two scenes to train on, and a test part."""
    train = tmp_path / "SRD" / "Train"
    picture, _, clean = scene(seed=0)
    for name in (*FIRST, "unlisted"):
        write_pair(train, name, picture, clean)
    for seed, names in ((1, ("a", "b")), (2, ("c",))):
        picture, _, clean = scene(seed=seed)
        for name in names:
            write_pair(train, name, picture, clean, large=name == "c")
    write_pair(tmp_path / "SRD" / "Test", "t", *scene(seed=3)[::2])
    return tmp_path / "SRD"


def prepare(download: Path) -> Path:
    prepare_srd(download, download.parent / "new")
    return download.parent / "new"


def test_the_list_has_the_200_pictures_of_40_scenes() -> None:
    scenes = list_validation_scenes()
    assert len(scenes) == 40
    assert len({name for names in scenes for name in names}) == sum(map(len, scenes)) == 200


def test_validation_scenes_are_set_aside_whole_and_the_test_part_is_not_used(download: Path) -> None:
    summary = prepare_srd(download, download.parent / "new")
    found = find(download.parent / "new")
    assert {sample.name: sample.split for sample in found} == {
        **dict.fromkeys(FIRST, "val"),
        **dict.fromkeys("abc", "train"),
    }
    assert [sample.name for sample in found] == sorted(sample.name for sample in found)
    scenes = {sample.name: sample.scene for sample in found}
    assert scenes["a"] == scenes["b"] != scenes["c"]
    assert summary.pairs == {"train": 3, "val": 2}
    assert summary.scenes == {"train": 2, "val": 1}
    (left_out,) = summary.left_out
    assert "unlisted" in left_out.file
    assert len(summary.missing) == 198


def test_pictures_are_downscaled_and_masks_are_those_of_the_pair(download: Path) -> None:
    found = {sample.name: sample for sample in find(prepare(download))}
    picture, mask, clean = found["c"].load()
    assert picture.shape == clean.shape == (390, 512, 3)
    files = (download / "Train" / part for part in ("shadow/c.png", "shadow_free/c_no_shadow.png"))
    small = [np.asarray(Image.open(file).resize((512, 390), Image.Resampling.LANCZOS)) for file in files]
    assert np.array_equal(mask, derive_mask(*small))  # before WebP changed the pictures
    assert np.abs(picture.astype(int) - small[0]).max() > 1
    assert np.abs(picture.astype(int) - small[0]).mean() < 3
    assert found["a"].load().picture.shape == (120, 160, 3)  # never enlarged


def test_a_scene_is_in_one_shard_and_its_clean_picture_is_there_once(download: Path) -> None:
    new = prepare(download)
    assert sorted(path.name for path in new.iterdir()) == [
        "pairs.csv",
        "train-0.tar",
        "train-1.tar",
        "val.tar",
    ]
    members = {}
    for path in new.glob("*.tar"):
        with tarfile.open(path) as shard:
            members[path.stem] = shard.getnames()
    assert sorted(members["val"]) == sorted(
        [f"{part}/{name}.{kind}" for name in FIRST for part, kind in (("shadow", "webp"), ("mask", "png"))]
        + [f"shadow_free/{FIRST[0]}.webp"]
    )
    assert {len(members["train-0"]), len(members["train-1"])} == {5, 3}
    rows = (new / "pairs.csv").read_text().splitlines()
    assert rows[0] == "shadow,shadow_free,mask,scene,split,shadow_fraction"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda picture, clean: (clean, clean), "covers 0.0 % of the picture"),
        (lambda picture, clean: (clean // 3, np.maximum(clean // 3, 1)), "covers"),
        (
            lambda picture, clean: (np.where(picture < clean, clean - clean // 20, clean), clean),
            "times brighter",
        ),
    ],
)
def test_a_pair_without_a_clear_shadow_is_left_out_with_the_reason(
    download: Path, change: object, reason: str
) -> None:
    picture, _, clean = scene(seed=3)
    assert callable(change)
    write_pair(download / "Train", "flawed", *change(picture, clean))
    summary = prepare_srd(download, download.parent / "new")
    flaws = [problem.reason for problem in summary.left_out if "flawed" in problem.file]
    assert len(flaws) == 1
    assert reason in flaws[0]
    assert summary.pairs["train"] == 3


def test_masks_beside_the_pictures_are_not_used(download: Path) -> None:
    masks = download / "Train" / "mask"
    masks.mkdir()
    for name in ("a", "b", "c", "unlisted", *FIRST):
        size = (840, 640) if name == "c" else (160, 120)
        Image.new("L", size, 255).save(masks / f"{name}.png")
    found = {sample.name: sample for sample in find(prepare(download))}
    assert 0.1 < (found["a"].load().mask > 0).mean() < 0.9


def test_the_command_says_what_it_wrote_and_what_is_missing(
    download: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = download.parent / "new"
    with pytest.raises(SystemExit) as end:
        main(["data", "prepare", str(download), "-o", str(output)])
    assert not end.value.code
    printed = capsys.readouterr().out
    assert "train: 3 pairs of 2 scenes\nval: 2 pairs of 1 scenes\nleft out: " in printed
    assert "missing of the 200 validation pictures: DSCF0521, " in printed


@pytest.mark.parametrize("what", ["another set", "a broken file", "a full folder"])
def test_what_cannot_be_prepared_is_said_and_leaves_nothing(download: Path, what: str) -> None:
    output = download.parent / "new"
    match what:
        case "another set":
            for path in download.rglob(f"{FIRST[0][:4]}*"):
                path.unlink()
            words = "none of the validation pictures"
        case "a broken file":
            path = download / "Train" / "shadow" / "a.png"
            data = bytearray(path.read_bytes())
            data[len(data) // 2 : len(data) // 2 + 40] = bytes(40)
            path.write_bytes(data)
            words = "cannot be read"
        case _:
            output = download
            words = "overlaps"
    with pytest.raises(ValueError, match=words):
        prepare_srd(download, output)
    assert sorted(path.name for path in download.parent.iterdir()) == ["SRD"]
