"""The tables of an ablation and of a distillation: read from files of results, merged, drawn in Markdown."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deshadow.system.files import write_whole
from deshadow.training.markdown import ABOUT, COLUMNS, cell, cells, table_lines
from deshadow.training.rows import INPUT, TABLES

RECORD = "row.json"
"""File in the folder of a row: its figures, or why it failed."""
DISTILLED = "distilled.json"
"""File in the folder of a distillation: the figures of teacher and student."""
MERGED = "tables.json"
"""File with the records of many rows, from which the tables can be drawn again."""

RUN_COLUMNS = ("seed", "steps", "images", "minutes")
LATENT_COLUMNS = {
    "latent worth": "latent_worth",
    "latent common": "latent_common",
    "latent gap": "latent_gap",
    "in the shadow": "latent_gap_shadow",
}
ABOUT_LATENT = (
    "Latent worth: how much the LAB error in the shadow grows when the latent is that of another picture. "
    "Latent common: the share of its variance that is common to all pictures. Latent gap: the squared "
    "difference between E(x, m) and E*(y_0, 0), as a share of the variance of E*, everywhere and in the "
    "shadow."
)

Record = dict[str, Any]
Results = dict[str, Any]
"""`rows`: the record of each row by its name; `distilled`: that of a distillation, if there is one."""


def read_results(paths: Iterable[Path]) -> Results:
    """Merge results: folders of ablations, rows and distillations, or files of the three kinds.

    A row that failed in one place and ran in another counts as run. ValueError if two runs of a row differ.
    """
    rows: dict[str, tuple[Path, Record]] = {}
    distilled: tuple[Path, Record] | None = None
    for path in (found for each in paths for found in list_files(each)):
        content = read_content(path)
        if "teacher" in content or content.get("distilled"):
            distilled = choose_record("distilled", distilled, (path, content.get("distilled") or content))
        records = content.get("rows") or ({content["row"]: content} if "row" in content else {})
        for name, record in records.items():
            rows[name] = choose_record(name, rows.get(name), (path, record))
    results: Results = {"rows": {name: record for name, (_, record) in rows.items()}}
    return results | ({} if distilled is None else {"distilled": distilled[1]})


def read_content(path: Path) -> dict[str, Any]:
    """What a file of results holds."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a file of results ({error})") from error
    if not isinstance(content, dict) or not content.keys() & {"rows", "row", "teacher", "distilled"}:
        raise ValueError(f"{path} holds no results of an ablation or a distillation")
    return content


def list_files(path: Path) -> list[Path]:
    """The file itself, or the files of results in a folder and below; merged ones if there are no others."""
    if not path.is_dir():
        if not path.exists():
            raise ValueError(f"{path}: file not found")
        return [path]
    found = sorted([*path.rglob(RECORD), *path.rglob(DISTILLED)]) or sorted(path.rglob(MERGED))
    if not found:
        raise ValueError(f"{path} holds no {RECORD}, {DISTILLED} or {MERGED}: name the folder of results")
    return found


def choose_record(
    name: str, old: tuple[Path, Record] | None, new: tuple[Path, Record]
) -> tuple[Path, Record]:
    """One of two records of a row, with the files that they come from."""
    if old is None or "failed" in old[1]:
        return new
    if "failed" in new[1] or new[1] == old[1]:
        return old
    if name == INPUT and new[1]["pictures"] == old[1]["pictures"]:
        return old  # measured on each machine, whose last digits may differ
    raise ValueError(f"{old[0]} and {new[0]} have different results of {name}: leave one of them out")


def write_tables(results: Results, folder: Path) -> Path:
    """Write tables.json and tables.md; returns the path of tables.md."""
    write_whole(folder / MERGED, format_results(results))
    path = folder / "tables.md"
    write_whole(path, format_tables(results).encode())
    return path


def format_results(results: Results) -> bytes:
    """Results as a file from which they can be read again."""
    return json.dumps(results, indent=1, allow_nan=False, sort_keys=True).encode() + b"\n"


def format_tables(results: Results) -> str:
    """The tables as Markdown; those none of whose rows was run are left out."""
    records, lines = results["rows"], [f"{ABOUT} {ABOUT_LATENT}"]
    for title, rows in TABLES.items():
        if not records.keys() & rows.keys() - {INPUT}:
            continue
        body = [row_cells(text, records.get(name)) for name, text in rows.items()]
        table = table_lines(["row", *COLUMNS, *RUN_COLUMNS, *LATENT_COLUMNS], body)
        run = {rows[name]: records[name] for name in rows if name in records and name != INPUT}
        lines += ["", f"## {title}", "", *table, "", describe_code(run)]
    if "distilled" in results:
        lines += ["", "## Distillation (Tab. 5)", "", *format_distilled(results["distilled"])]
    return "\n".join(lines) + "\n"


def row_cells(title: str, found: Mapping[str, Any] | None) -> list[str]:
    """The cells of a row; without figures, the reason."""
    if found is None or "failed" in found:
        why = "not run" if found is None else f"failed: {found['failed']}".replace("|", "/")
        return [f"{title} ({why})", *["–"] * (len(COLUMNS) + len(RUN_COLUMNS) + len(LATENT_COLUMNS))]
    return [
        title,
        *cells(found),
        *(cell(found.get(name), 1 if name == "minutes" else 0) for name in RUN_COLUMNS),
        *(cell(latent_figure(name, found)) for name in LATENT_COLUMNS.values()),
    ]


def latent_figure(name: str, found: Mapping[str, Any]) -> float | None:
    """A figure of the latent; a gap of 0 stands for none, since there was no E* to compare with."""
    value: float | None = found.get(name)
    return None if name.startswith("latent_gap") and value == 0 else value


def describe_code(rows: Mapping[str, Record]) -> str:
    """A sentence with the digests of the code that made the rows; a warning where they differ."""
    made: dict[str, list[str]] = {}
    for title, record in rows.items():
        if "failed" not in record:
            made.setdefault(" then ".join(map(format_digests, record["code"])), []).append(title)
    if not made:
        return "No row has run to its end."
    if len(made) == 1 and " then " not in next(iter(made)):
        return f"Code of all rows: {next(iter(made))}."
    listed = "; ".join(f"{', '.join(titles)}: {code}" for code, titles in made.items())
    return (
        "**These rows were made by different code**, so that they may differ in more than what the table "
        f"compares. {listed}."
    )


def format_digests(code: Mapping[str, str]) -> str:
    """The digest of each package in one phrase."""
    return ", ".join(f"{package} {digest}" for package, digest in sorted(code.items()))


def format_distilled(found: Mapping[str, Any]) -> Sequence[str]:
    """The lines of Tab. 5: a teacher and its student."""
    rows = [
        [
            name,
            cell(found[name]["parameters"] / 1e6),
            cell(found[name]["gflop"], 0),
            cell(found[name]["steps"], 0),
            cell(found[name]["seconds"], 3),
            *cells(found[name]),
        ]
        for name in ("teacher", "student")
    ]
    shadow, everywhere = (cell(found["between"][name]["lab_mae"]) for name in ("shadow", "all"))
    return [
        *table_lines(["", "parameters (M)", "GFLOP", "steps", "time (s)", *COLUMNS], rows),
        "",
        f"GFLOP and time: all steps of one picture, 256 × 256 for GFLOP, on {found['device']} for the time. "
        f"LAB difference between both: {shadow} in the shadow, {everywhere} everywhere.",
    ]
