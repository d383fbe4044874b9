"""The command as a user runs it, on real files: results, reports, streams, impossible values."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import Command, Ended, failed_in_one_line, names, write_mask, write_photo
from PIL import Image

from deshadow.photo import read_photo


def test_the_result_lies_beside_the_photo_and_is_the_same_outside(tmp_path: Path, deshadow: Command) -> None:
    photo, mask = tmp_path / "photo.png", write_mask(tmp_path / "masks/m.png")
    before = write_photo(photo)
    data = photo.read_bytes()
    ended = deshadow(photo, "--mask", mask, "--json", tmp_path / "r.json")
    assert (ended.code, ended.err) == (0, "")
    assert "photo.deshadowed.png: " in ended.out
    assert photo.read_bytes() == data
    after = read_photo(tmp_path / "photo.deshadowed.png").codes
    changed = (after != before).any(axis=2)
    assert changed[:, :8].mean() > 0.5
    assert not changed[:, 36:].any()
    (entry,) = json.loads((tmp_path / "r.json").read_text())["photos"]
    assert entry["touched_share"] == pytest.approx(changed.mean())
    (tmp_path / "r.json").unlink()
    # A result is never taken as input again, whoever names it.
    again = deshadow(tmp_path, tmp_path / "photo.deshadowed.png", "--mask", mask)
    assert again.code == 0
    assert names(tmp_path) == ["masks/m.png", "photo.deshadowed.png", "photo.png"]
    failed_in_one_line(deshadow(tmp_path / "photo.deshadowed.png", "--mask", mask), "rename")


def test_folders_patterns_and_a_folder_of_masks(tmp_path: Path, deshadow: Command) -> None:
    for index, name in enumerate(("a.png", "b.jpg", "deep/c.png", ".hidden.png")):
        write_photo(tmp_path / "in" / name, seed=index)
        write_mask(tmp_path / "masks" / Path(name).with_suffix(".png"))
    (tmp_path / "in/notes.txt").write_text("not a photo")
    out = tmp_path / "out"
    assert deshadow(tmp_path / "in", "--mask", tmp_path / "masks", "-o", out).code == 0
    assert names(out) == ["a.png", "b.jpg"]
    assert deshadow(tmp_path / "in", "--mask", tmp_path / "masks", "-o", out, "--recursive").code == 0
    assert names(out) == ["a.png", "b.jpg", "deep/c.png"]
    ended = deshadow(tmp_path / "in/*.png", "--mask", tmp_path / "masks", "-o", tmp_path / "matched")
    assert ended.code == 0
    assert names(tmp_path / "matched") == ["a.png"]


def test_what_is_there_already_can_be_skipped(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "a.png")
    mask = write_mask(tmp_path / "m/m.png")
    (tmp_path / "a.deshadowed.png").write_bytes(b"kept")
    ended = deshadow(tmp_path / "a.png", "--mask", mask, "--skip-existing")
    assert ended.code == 0
    assert "exists already" in ended.out
    assert (tmp_path / "a.deshadowed.png").read_bytes() == b"kept"


def test_mask_comparison_variants_and_report(tmp_path: Path, deshadow: Command) -> None:
    photo, mask = tmp_path / "p/photo.jpg", write_mask(tmp_path / "mask.png")
    photo.parent.mkdir()
    Image.linear_gradient("L").resize((56, 40)).convert("RGB").save(photo, quality=88)
    extras = ["--save-mask", "--compare", "--variants", 2, "--json", tmp_path / "r.json", "--seed", 5]
    assert deshadow(photo, "--mask", mask, "-o", tmp_path / "out.jpg", *extras).code == 0
    expected = ["mask.png", "out.1.jpg", "out.2.jpg", "out.compare.jpg", "out.mask.png", "out.sheet.png"]
    assert names(tmp_path) == [*expected, "p/photo.jpg", "r.json"]
    assert np.array_equal(read_photo(tmp_path / "out.mask.png").codes[..., 0], np.asarray(Image.open(mask)))
    assert read_photo(tmp_path / "out.compare.jpg").width > 2 * 56
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["options"]["seed"] == 5
    (entry,) = report["photos"]
    assert entry["state"] == "done"
    assert entry["shadow_share"] == pytest.approx(0.25)
    assert 0 < entry["compression_loss"]["mean"] < 3
    assert [Path(each).name for each in entry["outputs"]] != []


def test_the_format_follows_the_name_of_the_output(tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "a.png")
    mask = write_mask(tmp_path / "m.png")
    assert deshadow(tmp_path / "a.png", "--mask", mask, "-o", tmp_path / "b.webp", "--quality", 80).code == 0
    assert read_photo(tmp_path / "b.webp").format == "WEBP"
    failed_in_one_line(deshadow(tmp_path / "a.png", "--mask", mask, "-o", tmp_path / "b.xyz"), "ending")


def test_streams(tmp_path: Path, weights: Path) -> None:
    photo, mask = tmp_path / "a.png", write_mask(tmp_path / "m.png")
    before = write_photo(photo)
    command = [sys.executable, "-m", "deshadow", "-", "--mask", str(mask), "--weights", str(weights)]
    ended = subprocess.run(command, input=photo.read_bytes(), capture_output=True, check=False)
    assert ended.returncode == 0
    after = read_photo(ended.stdout)
    assert after.format == "PNG"
    assert np.array_equal(after.codes[:, 36:], before[:, 36:])
    assert b"removed shadows from 25 % of the photo" in ended.stderr
    assert names(tmp_path) == ["a.png", "m.png"]


def test_it_ends_without_waiting_for_python_to_free_the_networks(tmp_path: Path, weights: Path) -> None:
    photo, mask = tmp_path / "photo.png", write_mask(tmp_path / "masks/m.png")
    write_photo(photo)
    code = "import atexit; atexit.register(print, 'freed'); from deshadow.__main__ import main; main()"
    words = [sys.executable, "-c", code, str(photo), "--mask", str(mask), "--weights", str(weights)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "photo.deshadowed.png: " in done.stdout
    assert "freed" not in done.stdout
    assert read_photo(tmp_path / "photo.deshadowed.png").codes.shape == (40, 56, 3)


def test_several_workers_give_the_same_files(tmp_path: Path, deshadow: Command) -> None:
    for index in range(5):
        write_photo(tmp_path / f"in/{index}.png", seed=index)
    mask = write_mask(tmp_path / "m.png")
    for workers in (1, 3):
        ended = deshadow(tmp_path / "in", "--mask", mask, "-o", tmp_path / str(workers), "--workers", workers)
        assert ended.code == 0
    for index in range(5):
        one, three = (tmp_path / f"{workers}/{index}.png" for workers in (1, 3))
        assert one.read_bytes() == three.read_bytes()


def test_one_bad_photo_does_not_keep_the_others(tmp_path: Path, deshadow: Command) -> None:
    for name in ("a.png", "c.png"):
        write_photo(tmp_path / "in" / name)
    (tmp_path / "in/b.png").write_text("I am no picture")
    mask = write_mask(tmp_path / "m.png")
    ended = deshadow(tmp_path / "in", "--mask", mask, "-o", tmp_path / "out", "--json", tmp_path / "r.json")
    failed_in_one_line(ended, "b.png")
    assert names(tmp_path / "out") == ["a.png", "c.png"]
    states = [entry["state"] for entry in json.loads((tmp_path / "r.json").read_text())["photos"]]
    assert states == ["done", "failed", "done"]


def test_several_photos_end_with_a_summary_and_say_what_each_percentage_is(
    tmp_path: Path, deshadow: Command
) -> None:
    for name in ("a.png", "b.png", "c.png"):
        write_photo(tmp_path / "in" / name)
        write_mask(tmp_path / "masks" / name)
    Image.new("L", (56, 40)).save(tmp_path / "masks/b.png")
    (tmp_path / "in/c.png").write_text("I am no picture")
    where = ["--mask", tmp_path / "masks", "-o", tmp_path / "out"]
    ended = deshadow(tmp_path / "in", *where, "--workers", 1)
    assert ended.code == 2
    first, second, last = ended.out.splitlines()
    assert "a.png: removed shadows from 25 % of the photo, " in first
    assert " % of its pixels changed, in " in first
    assert "the mask is empty" in second
    assert last.startswith("3 photos in ")
    assert last.endswith(" s: 1 done, 1 unchanged, 1 failed")
    (tmp_path / "in/c.png").unlink()
    again = deshadow(tmp_path / "in", *where, "--skip-existing").out.splitlines()
    assert again[-1].endswith(" s: 0 done, 0 unchanged, 0 failed, 2 skipped")
    alone = deshadow(tmp_path / "in/a.png", *where).out
    assert alone.count("\n") == 1


def test_alone_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    from deshadow.cli.app import main

    with pytest.raises(SystemExit) as end:
        main([])
    assert not end.value.code
    assert "--skip-existing" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        ["--mode", "slow"],
        ["--steps", "0"],
        ["--steps", "1.5"],
        ["--variants", "1.5"],
        ["--quality", "90.5"],
        ["--strength", "2"],
        ["--sampler", "euler"],
        ["--at", "here"],
        ["--instance", "first"],
        ["--quality", "101"],
        ["--variants", "0"],
        ["--frobnicate"],
        ["--at", "900,900"],
        ["--instance", "7"],
    ],
)
def test_values_that_are_not_possible(wrong: list[str], tmp_path: Path, deshadow: Command) -> None:
    write_photo(tmp_path / "photo.png")
    mask = write_mask(tmp_path / "m/m.png")
    failed_in_one_line(deshadow(tmp_path / "photo.png", "--mask", mask, *wrong))
    assert names(tmp_path) == ["m/m.png", "photo.png"]


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("network", ["weights", "detector"])
def test_weights_that_are_not_there_are_said_once(
    network: str, workers: str, tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from deshadow.cli.app import main

    for name in ("a.png", "b.png"):
        write_photo(tmp_path / "in" / name)
    chosen = {"weights": str(weights), "detector": "detector"} | {network: "sunny"}
    options = [word for name, value in chosen.items() for word in (f"--{name}", value)]
    with pytest.raises(SystemExit) as end:
        main([str(tmp_path / "in"), "--workers", workers, *options])
    assert names(tmp_path / "in") == ["a.png", "b.png"]
    failed_in_one_line(Ended(int(end.value.code or 0), *capsys.readouterr()), "no weights 'sunny'")
