"""Tables drawn from results of several machines."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from deshadow.cli.app import app
from deshadow.training import digest
from deshadow.training.rows import ROWS
from deshadow.training.tables import format_tables, read_results

CODE = {"nn": "a" * 12, "diffusion": "b" * 12, "data": "c" * 12, "training": "d" * 12}


def figures(shadow: float) -> dict[str, Any]:
    region = {"lab_mae": shadow, "psnr": 30.0, "ssim": 0.9}
    regions = {"shadow": region, "non_shadow": region | {"lab_mae": 3.0}, "all": region | {"lab_mae": 5.0}}
    return {"pictures": 200, "regions": regions, "sharpness": 0.9}


def write_row(folder: Path, name: str, shadow: float, code: list[dict[str, str]] | None = None) -> Path:
    path = folder / name / "row.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    more = {"row": name, "images": 120_000, "steps": 1, "seed": 0, "code": code or [CODE]}
    path.write_text(json.dumps(more | figures(shadow)))
    return path


def write_distilled(folder: Path) -> None:
    def contender(parameters: float, steps: int) -> dict[str, Any]:
        return {"parameters": parameters, "gflop": 316.0, "steps": steps, "seconds": 0.5, **figures(7.0)}

    found = {"teacher": contender(82.6e6, 50), "student": contender(25.4e6, 1), "device": "a processor"}
    folder.mkdir()
    (folder / "distilled.json").write_text(json.dumps(found | {"between": figures(1.25)["regions"]}))


def test_a_gap_of_nothing_is_no_figure_but_a_worth_of_nothing_is(tmp_path: Path) -> None:
    path = write_row(tmp_path, "no-invariant", 8.5)
    latent = {"latent_worth": 0.0, "latent_common": 0.25, "latent_gap": 0.0, "latent_gap_shadow": 0.0}
    path.write_text(json.dumps(json.loads(path.read_text()) | latent))
    assert "| 0.00 | 0.25 | – | – |" in format_tables(read_results([tmp_path]))


def run(*arguments: str) -> None:
    app(arguments, exit_on_error=False, print_error=False, result_action="return_value")


def test_rows_of_several_machines_become_one_file_from_which_the_tables_are_drawn_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write_row(one, "latent", 8.5)
    row = write_row(other, "none", 8.75)
    write_distilled(tmp_path / "student")
    merged = tmp_path / "docs" / "tables.json"
    run("tables", str(one), str(row), str(tmp_path / "student"), "--json", str(merged))
    first = capsys.readouterr().out.removeprefix(f"{merged}\n")
    for folder in (one, other, tmp_path / "student"):
        shutil.rmtree(folder)
    run("tables", str(merged))
    assert capsys.readouterr().out == first
    run("tables", str(tmp_path / "docs"), "-o", str(tmp_path / "tables.md"))
    assert (tmp_path / "tables.md").read_text() + "\n" == first
    lines = first.splitlines()
    assert any(line.startswith("| latent (ours) | 8.50 | 3.00 | 5.00 | 30.00 |") for line in lines)
    assert any(line.startswith("| none | 8.75 |") for line in lines)
    assert any(line.startswith("| coarse deshadowed picture (not run) | – |") for line in lines)
    assert any(line.startswith("| student | 25.40 | 316 | 1 | 0.500 | 7.00 |") for line in lines)
    assert any("LAB difference between both: 1.25 in the shadow" in line for line in lines)
    assert not any(line.startswith("## The objective") for line in lines)  # none of its rows was run


@pytest.mark.parametrize("other", [[CODE | {"data": "e" * 12}], [CODE, CODE | {"nn": "f" * 12}]])
def test_a_table_says_whether_one_code_made_its_rows(tmp_path: Path, other: list[dict[str, str]]) -> None:
    write_row(tmp_path, "latent", 8.5)
    write_row(tmp_path, "none", 8.75)
    same = format_tables(read_results([tmp_path]))
    assert "different code" not in same
    assert f"Code of all rows: data {'c' * 12}, diffusion {'b' * 12}" in same
    write_row(tmp_path, "none", 8.75, other)
    fusion, guidance = format_tables(read_results([tmp_path])).split("## ")[1:]
    assert "different code" not in fusion  # it has but one of the two rows
    assert "**These rows were made by different code**" in guidance


def test_a_row_that_failed_elsewhere_counts_as_run_and_two_results_of_a_row_are_refused(
    tmp_path: Path,
) -> None:
    good, bad = write_row(tmp_path / "a", "none", 8.75), write_row(tmp_path / "b", "none", 9.0)
    with pytest.raises(ValueError, match="different results of none: leave one of them out"):
        read_results([tmp_path])
    bad.write_text(json.dumps({"row": "none", "failed": "out of memory"}))
    for order in ([good, bad], [bad, good], [good, good]):
        assert read_results(order)["rows"]["none"]["regions"]["shadow"]["lab_mae"] == 8.75


def test_what_is_no_result_is_said(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "holds no row.json"), (tmp_path / "none.json", "file not found")):
        with pytest.raises(ValueError, match=message):
            read_results([path])
    other = tmp_path / "other.json"
    for content, message in ((b"\xff", "other.json is not a file of results"), (b"[]", "holds no results")):
        other.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_results([other])
    with pytest.raises(ValueError, match="name folders or files"):
        run("tables")


def test_the_digest_changes_with_the_code_and_not_with_its_line_endings_or_what_only_draws(
    tmp_path: Path,
) -> None:
    for package in digest.PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "a.py").write_bytes(b"one = 1\ntwo = 2\n")
    before = digest.digest_code.__wrapped__(tmp_path)
    assert list(before) == ["nn", "diffusion", "image", "metrics", "data", "training"]
    assert len(set(before.values())) == 6
    (tmp_path / "nn" / "a.py").write_bytes(b"one = 1\r\ntwo = 2\r\n")
    (tmp_path / "training" / "tables.py").write_text("pass")
    assert digest.digest_code.__wrapped__(tmp_path) == before
    (tmp_path / "nn" / "a.py").write_bytes(b"one = 1\ntwo = 3\n")
    (tmp_path / "data" / "a.py").rename(tmp_path / "data" / "b.py")
    after = digest.digest_code.__wrapped__(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {"nn", "data"}


def test_what_only_draws_is_there() -> None:
    root = Path(digest.__file__).parents[1]
    assert all((root / name).is_file() for name in digest.DRAWING)
    assert not any(name.startswith("input") for name in ROWS)
