"""Readers on small trees in each published layout, whole and broken."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from deshadow.data.pairs.find import find

Pixels = NDArray[np.uint8]


def scene(seed: int, size: tuple[int, int] = (48, 64)) -> tuple[Pixels, Pixels, Pixels]:
    """A picture with a square shadow, its mask, and the picture without."""
    noise = np.random.default_rng(seed)
    clean = noise.integers(120, 250, (*size, 3), dtype=np.uint8)
    mask = np.zeros(size, np.uint8)
    mask[8:32, 10:40] = 255
    picture = np.where(mask[..., None] > 0, clean // 3, clean)
    return picture, mask, clean


def save(path: Path, pixels: Pixels) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def write(path: Path, name: str, folders: tuple[str, str, str], seed: int = 0, clean_name: str = "") -> None:
    """One triplet into the folders for picture, mask and clean picture."""
    picture, mask, clean = scene(seed)
    save(path / folders[0] / f"{name}.png", picture)
    save(path / folders[1] / f"{name}.png", mask)
    save(path / folders[2] / f"{clean_name or name}.png", clean)


PLAIN = ("shadow", "mask", "shadow_free")


def test_istd_is_recognised_with_its_splits_and_scenes(tmp_path: Path) -> None:
    for split, names in {"train": ("1-1", "1-2", "7-1"), "test": ("9-1",)}.items():
        for seed, name in enumerate(names):
            write(tmp_path / split, name, (f"{split}_A", f"{split}_B", f"{split}_C"), seed)
    found = find(tmp_path)
    assert found.layout == "istd"
    assert [(each.split, each.name, each.scene) for each in found] == [
        ("test", "9-1", "9"),
        ("train", "1-1", "1"),
        ("train", "1-2", "1"),
        ("train", "7-1", "7"),
    ]
    picture, mask, clean = scene(1)
    loaded = found[2].load()
    np.testing.assert_array_equal(loaded.picture, picture)
    np.testing.assert_array_equal(loaded.mask, mask)
    np.testing.assert_array_equal(loaded.clean, clean)
    assert [each.name for each in find(tmp_path, split="test")] == ["9-1"]


def test_istd_without_split_folders(tmp_path: Path) -> None:
    write(tmp_path, "3-4", ("train_A", "train_B", "train_C"))
    assert find(tmp_path)[0].split == "train"


@pytest.mark.parametrize("fixed", ["train_C_fixed_official", "train_C_fixed_ours", "train_C_fixed"])
def test_aistd_reads_the_adjusted_pictures_and_istd_the_others(tmp_path: Path, fixed: str) -> None:
    write(tmp_path, "1-1", ("train_A", "train_B", "train_C"), seed=1)
    save(tmp_path / fixed / "1-1.png", scene(2)[2])
    found = find(tmp_path)
    assert found.layout == "aistd"
    np.testing.assert_array_equal(found[0].clean, scene(2)[2])
    np.testing.assert_array_equal(find(tmp_path, layout="istd")[0].clean, scene(1)[2])


def test_aistd_does_not_pass_off_unadjusted_pictures_as_its_own(tmp_path: Path) -> None:
    write(tmp_path, "1-1", ("train_A", "train_B", "train_C_fixed_official"))
    write(tmp_path, "2-1", ("test_A", "test_B", "test_C"))
    assert len(find(tmp_path, split="train")) == 1
    with pytest.raises(ValueError, match="test_C has no adjusted pictures"):
        find(tmp_path)
    assert find(tmp_path, split="test", layout="istd")[0].name == "2-1"


def test_srd_joins_suffixed_names_and_groups_the_same_clean_photo(tmp_path: Path) -> None:
    for seed, name, clean in ((1, "IMG_1", "IMG_1_no_shadow"), (1, "IMG_2", "IMG_2_no_shadow")):
        write(tmp_path / "Train", name, PLAIN, seed, clean)
    write(tmp_path / "Train", "IMG_3", PLAIN, 2, "IMG_3_no_shadow")
    write(tmp_path / "Test", "DSC_9", PLAIN, 3, "DSC_9_free")
    found = find(tmp_path, split="train")
    assert found.layout == "srd"
    assert [(each.name, each.scene) for each in found] == [
        ("IMG_1", "IMG_1"),
        ("IMG_2", "IMG_1"),
        ("IMG_3", "IMG_3"),
    ]
    assert find(tmp_path, split="test")[0].name == "DSC_9"


def test_srd_masks_beside_under_another_name(tmp_path: Path) -> None:
    write(tmp_path, "a", ("shadow", "testmask", "shadow_free"), clean_name="a_free")
    assert find(tmp_path)[0].mask_file is not None


def test_missing_masks_are_derived(tmp_path: Path) -> None:
    write(tmp_path, "a", PLAIN)
    write(tmp_path, "b", PLAIN, seed=1)
    (tmp_path / "mask/b.png").unlink()
    given, derived = find(tmp_path)
    assert given.mask_file is not None
    assert derived.mask_file is None
    truth = scene(1)[1] > 0
    mask = derived.load().mask
    assert mask.dtype == np.uint8
    assert set(np.unique(mask)) == {0, 255}
    assert ((mask > 0) & truth).sum() / ((mask > 0) | truth).sum() > 0.9


def test_official_folders_named_by_split(tmp_path: Path) -> None:
    write(tmp_path / "aistd_train", "1-1", PLAIN)
    write(tmp_path / "aistd_test", "2-1", PLAIN)
    found = find(tmp_path)
    assert (found.layout, [each.split for each in found]) == ("plain", ["test", "train"])


def test_plain_folder_ignores_what_lies_beside(tmp_path: Path) -> None:
    write(tmp_path, "a", PLAIN)
    save(tmp_path / "instance_mask/a_0.png", scene(0)[1])
    save(tmp_path / "shadow/._a.png", scene(0)[0])
    (tmp_path / "shadow/Thumbs.db").write_text("")
    (tmp_path / "params.txt").write_text("")
    found = find(tmp_path)
    assert (len(found), found.layout, found[0].split) == (1, "plain", "")


def test_two_mask_folders_are_not_guessed_between(tmp_path: Path) -> None:
    write(tmp_path, "a", ("shadow", "mask_old", "shadow_free"))
    write(tmp_path, "a", ("shadow", "mask_new", "shadow_free"))
    with pytest.raises(ValueError, match="several folders of masks"):
        find(tmp_path)


def test_shadows_that_stay_are_read_from_instances(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, name, ("shadow", "mask", "shadow_free"))
    shape = (48, 64)
    for number, column in ((0, 5), (2, 20)):
        other = np.zeros(shape, np.uint8)
        other[:, column] = 255
        save(tmp_path / "instances" / f"a_{number}_other.png", other)
    save(tmp_path / "instances" / "a_1_target.png", np.zeros(shape, np.uint8))
    first, second = find(tmp_path)
    assert first.instance == 0
    assert first.others is not None
    assert np.flatnonzero(first.others.any(axis=0)).tolist() == [5, 20]
    assert second.instance is None
    assert second.others is None


def desoba(path: Path, name: str) -> tuple[Pixels, Pixels, Pixels]:
    """Two numbered shadows and one without an object."""
    picture, _, clean = scene(len(name))
    labels = np.zeros(picture.shape[:2], np.uint8)
    labels[:10, :10], labels[20:30, 20:30], labels[40:, 40:] = 7, 19, 255
    picture = np.where(labels[..., None] > 0, clean // 4, clean)
    save(path / "ShadowImage" / f"{name}.png", picture)
    save(path / "DeshadowedImage" / f"{name}.png", clean)
    save(path / "ShadowMask" / f"{name}.png", labels)
    save(path / "InstanceMask" / f"{name}.png", labels)
    return picture, labels, clean


def test_desoba_instance_replaces_the_picture_only_under_its_mask(tmp_path: Path) -> None:
    picture, labels, clean = desoba(tmp_path, "web-1")
    found = find(tmp_path)
    assert found.layout == "desoba"
    assert [(each.name, each.scene) for each in found] == [("web-1_7", "web-1"), ("web-1_19", "web-1")]
    got = found[1].load()
    np.testing.assert_array_equal(got.mask > 0, labels == 19)
    np.testing.assert_array_equal(got.clean[labels == 19], clean[labels == 19])
    np.testing.assert_array_equal(got.clean[labels != 19], picture[labels != 19])


def test_desoba_splits_by_its_lists(tmp_path: Path) -> None:
    for name in ("a", "bb"):
        desoba(tmp_path, name)
    (tmp_path / "Training_labels.txt").write_text("bb.png\n")
    (tmp_path / "Testing_labels.txt").write_text("a.png\n")
    assert {each.scene for each in find(tmp_path, split="train")} == {"bb"}
    assert len(find(tmp_path)) == 4


@pytest.mark.parametrize("pattern", ["ShadowMask/web_{}.png", "ShadowMask/web/{}.png"])
def test_desoba_with_a_file_per_instance(tmp_path: Path, pattern: str) -> None:
    _, labels, _ = desoba(tmp_path, "web")
    (tmp_path / "ShadowMask/web.png").unlink()
    for number, label in enumerate((7, 19)):
        save(tmp_path / pattern.format(number), np.where(labels == label, 255, 0).astype(np.uint8))
    found = find(tmp_path)
    assert [each.name for each in found] == ["web_0", "web_1"]
    np.testing.assert_array_equal(found[1].mask > 0, labels == 19)


def test_desoba_mask_that_holds_no_labels(tmp_path: Path) -> None:
    desoba(tmp_path, "web")
    save(tmp_path / "ShadowMask/web.png", np.tile(np.arange(64, dtype=np.uint8) * 4, (48, 1)))
    desoba(tmp_path, "other")
    save(
        tmp_path / "ShadowMask/other.png", np.random.default_rng(0).integers(0, 255, (48, 64), dtype=np.uint8)
    )
    with pytest.raises(ValueError, match=r"other\.png: .* grey levels: it should have one for each shadow"):
        find(tmp_path)


def broken_tree(path: Path) -> None:
    """A good pair and one of each kind of problem."""
    write(path, "good", PLAIN)
    write(path, "lonely", PLAIN, 1)
    (path / "shadow_free/lonely.png").unlink()
    write(path, "orphan", PLAIN, 2)
    (path / "shadow/orphan.png").unlink()
    (path / "mask/orphan.png").unlink()
    write(path, "small", PLAIN, 3)
    save(path / "shadow_free/small.png", scene(3, (40, 64))[2])
    write(path, "mask_small", PLAIN, 4)
    save(path / "mask/mask_small.png", scene(4, (48, 60))[1])
    write(path, "text", PLAIN, 5)
    (path / "shadow/text.png").write_text("not a picture")
    write(path, "cut", PLAIN, 6)
    whole = (path / "shadow_free/cut.png").read_bytes()
    (path / "shadow_free/cut.png").write_bytes(whole[: len(whole) // 2])
    write(path, "empty", PLAIN, 7)
    (path / "mask/empty.png").write_bytes(b"")
    write(path, "twice", PLAIN, 8)
    save(path / "shadow/twice.bmp", scene(8)[0])


def test_every_problem_is_listed_with_its_file(tmp_path: Path) -> None:
    broken_tree(tmp_path)
    found = find(tmp_path, skip_problems=True)
    assert [each.name for each in found] == ["good", "twice"]
    listed = {
        Path(problem.file).relative_to(tmp_path).as_posix(): problem.reason for problem in found.problems
    }
    assert listed["shadow/lonely.png"] == "no partner in shadow_free/"
    assert listed["mask/empty.png"] == "not a picture"
    assert listed["shadow_free/orphan.png"] == "no shadow picture of this name"
    assert listed["shadow/small.png"].startswith("64 × 48, but ")
    assert listed["shadow/small.png"].endswith("shadow_free/small.png is 64 × 40")
    assert listed["shadow/mask_small.png"].endswith("mask/mask_small.png is 60 × 48")
    assert listed["shadow/text.png"] == "not a picture"
    assert "truncated" in listed["shadow_free/cut.png"]
    assert listed["shadow/twice.png"] == "the same name as twice.bmp"
    assert len(listed) == 8


def test_problems_are_one_error_unless_skipped(tmp_path: Path) -> None:
    broken_tree(tmp_path)
    with pytest.raises(ValueError, match=r"^8 problems: .*; and 3 more .*--skip-problems"):
        find(tmp_path)


@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "bmp", "tif"])
def test_a_picture_cut_short_is_found_before_it_is_decoded(tmp_path: Path, kind: str) -> None:
    write(tmp_path, "a", PLAIN)
    path = tmp_path / f"shadow/a.{kind}"
    (tmp_path / "shadow/a.png").unlink()
    save(path, scene(0)[0])
    assert len(find(tmp_path)) == 1
    path.write_bytes(path.read_bytes()[:-700])
    with pytest.raises(ValueError, match=rf"^1 problem: .*a\.{kind}: "):
        find(tmp_path)


def test_a_picture_that_breaks_later_is_named_when_it_is_decoded(tmp_path: Path) -> None:
    write(tmp_path, "a", PLAIN)
    found = find(tmp_path)
    path = tmp_path / "shadow_free/a.png"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ValueError, match=r"shadow_free/a\.png cannot be read \(.*truncated"):
        found[0].load()


def test_a_tail_behind_the_picture_is_no_problem(tmp_path: Path) -> None:
    write(tmp_path, "a", PLAIN)
    (tmp_path / "shadow/a.png").unlink()
    path = tmp_path / "shadow/a.jpg"
    save(path, scene(0)[0])
    path.write_bytes(path.read_bytes() + bytes(500))
    assert len(find(tmp_path)) == 1


def test_a_photo_on_its_side_is_set_upright(tmp_path: Path) -> None:
    write(tmp_path, "a", PLAIN)
    (tmp_path / "shadow/a.png").unlink()
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = scene(0)[0]
    lying = Image.fromarray(np.rot90(picture).copy())
    lying.save(tmp_path / "shadow/a.jpg", exif=exif, quality=100, subsampling=0)
    got = find(tmp_path)[0].picture
    assert got.shape == picture.shape
    assert np.abs(got.astype(int) - picture).mean() < 1


@pytest.mark.parametrize("levels", [(0, 1), (0, 255), (3, 240), (0, 100), (0, 127), (0, 128)])
def test_masks_come_as_0_and_255(tmp_path: Path, levels: tuple[int, int]) -> None:
    write(tmp_path, "a", PLAIN)
    mask = scene(0)[1]
    save(tmp_path / "mask/a.png", np.where(mask > 0, levels[1], levels[0]).astype(np.uint8))
    np.testing.assert_array_equal(find(tmp_path)[0].mask, mask)


def test_what_is_not_a_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no data set that is recognised"):
        find(tmp_path)
    with pytest.raises(ValueError, match="does not exist"):
        find(tmp_path / "nowhere")
    (tmp_path / "file.png").write_bytes(b"")
    with pytest.raises(ValueError, match="is a file: give the folder"):
        find(tmp_path / "file.png")
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow_free").mkdir()
    with pytest.raises(ValueError, match="holds no pictures"):
        find(tmp_path)


def test_unknown_splits_and_layouts_name_the_known_ones(tmp_path: Path) -> None:
    write(tmp_path / "train", "a", PLAIN)
    with pytest.raises(ValueError, match=r"no split 'val' in .*: it has train"):
        find(tmp_path, split="val")
    with pytest.raises(ValueError, match="it has no splits"):
        find(tmp_path / "train", split="train")
    with pytest.raises(ValueError, match="unknown layout 'coco': choose from csv, istd"):
        find(tmp_path, layout="coco")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is not laid out as desoba: expected the folders ShadowImage"):
        find(tmp_path, layout="desoba")
    with pytest.raises(ValueError, match=r"has no pairs\.csv"):
        find(tmp_path, layout="csv")


def test_several_data_sets_under_one_folder_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path / "one/train", "a", PLAIN)
    write(tmp_path / "two/train", "b", PLAIN, 1)
    with pytest.raises(ValueError, match="several data sets"):
        find(tmp_path)
    write(tmp_path / "three", "1-1", ("train_A", "train_B", "train_C"))
    with pytest.raises(ValueError, match=r"several data sets \(istd and plain\)"):
        find(tmp_path)


@pytest.mark.parametrize("top", [1, 255, 65535])
def test_pictures_and_masks_of_16_bits_are_scaled_not_clipped(tmp_path: Path, top: int) -> None:
    ramp = (np.linspace(0, 1, 48).round() if top == 1 else np.linspace(0, 1, 48))[None].repeat(32, axis=0)
    values = (ramp * top).round().astype(np.uint16)
    for part in ("shadow", "mask", "shadow_free"):
        (tmp_path / part).mkdir()
        Image.fromarray(values).save(tmp_path / part / "a.png")
    picture, mask, _ = find(tmp_path)[0].load()
    np.testing.assert_allclose(picture[..., 1], ramp * 255, atol=1)
    assert (mask > 0).mean() == pytest.approx(0.5, abs=0.05)


def test_a_link_that_leads_nowhere_is_a_problem_like_others(tmp_path: Path) -> None:
    for part in ("shadow", "mask", "shadow_free"):
        (tmp_path / part).mkdir()
        for name in ("a.png", "b.png"):
            Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / part / name)
    (tmp_path / "shadow_free" / "b.png").unlink()
    (tmp_path / "shadow_free" / "b.png").symlink_to(tmp_path / "gone.png")
    found = find(tmp_path, skip_problems=True)
    assert [sample.name for sample in found] == ["a"]
    assert "file not found" in str(found.problems[0])
