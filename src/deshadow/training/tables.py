"""The tables of an ablation: which rows there are, and what they say, in Markdown and JSON."""

import json
from pathlib import Path
from typing import Any

from deshadow.system.files import write_whole
from deshadow.training.figures import COLUMNS, cell, cells, table_lines
from deshadow.training.recipes import LITERAL

RECORD = "row.json"
"""File in the folder of a row: its figures, or why it failed."""
INPUT = "input"
"""Folder of the row that scores the shadow pictures themselves."""

NOISE = {"predicts": "noise", "norm": "l2", "final": 0.0, "val_anchor": "lit"}
"""At the last timestep y_t is nothing but noise, and predicting it teaches nothing: all timesteps alike.
ε hardly learns the colour of a picture, so the lit pixels are kept where these rows are scored."""
BASELINE = {"guidance": "none", "fusion": "none", **NOISE}

ROWS: dict[str, dict[str, Any]] = {
    "ours": {},
    "no-fusion": {"fusion": "none"},
    "lagged": {"fusion": "none"},
    "no-guidance": {"guidance": "none"},
    "colour": {"guidance": "colour"},
    "coarse": {"guidance": "coarse"},
    "no-invariant": {"invariant": 0.0},
    "noise-literal": {**LITERAL, "val_anchor": "lit"},
    "noise-frozen": {**NOISE, "weighting": "p2"},
    "palette": {"sees": "picture", **BASELINE},
    "repaint": {"sees": "nothing", **BASELINE},
}
"""What each row changes in the options of the whole method. A new row is one entry here and in TABLES."""

TABLES: dict[str, dict[str, str]] = {
    "Fusion of y_t (Tab. 3)": {
        "no-fusion": "without fusion",
        "lagged": "lagged posterior",
        "ours": "dense fusion (ours)",
    },
    "Guidance (Tab. 4)": {
        "no-guidance": "none",
        "colour": "invariant colour map",
        "coarse": "coarse deshadowed picture",
        "no-invariant": "latent, without invariant loss",
        "ours": "latent (ours)",
    },
    "Further rows": {
        INPUT: "the shadow picture itself",
        "noise-literal": "the paper to the letter (ε, P2, Eq. 10 to 12 as written)",
        "noise-frozen": "ε and P2, with the frozen target and a blind stage one",
        "palette": "Palette",
        "repaint": "RePaint",
        "ours": "ours",
    },
}
"""The rows of each table, by name, with their titles."""

RUN_COLUMNS = ("steps", "images", "minutes", "latent worth", "latent common", "latent gap")


def read_records(folder: Path) -> dict[str, dict[str, Any]]:
    """The rows of an ablation that are done or failed."""
    paths = {name: folder / name / RECORD for name in (INPUT, *ROWS)}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def write_tables(folder: Path) -> Path:
    """Write tables.md and tables.json from the rows in the folder; returns the path of tables.md."""
    records = read_records(folder)
    tables = {
        title: [{"row": name, "title": text, **records.get(name, {})} for name, text in rows.items()]
        for title, rows in TABLES.items()
    }
    write_whole(folder / "tables.json", json.dumps(tables, indent=1, allow_nan=False).encode() + b"\n")
    path = folder / "tables.md"
    write_whole(path, format_tables(records).encode())
    return path


def format_tables(records: dict[str, dict[str, Any]]) -> str:
    """The tables as Markdown."""
    lines = [
        "S, N, A: in the shadow, outside it, everywhere. LAB: mean absolute difference summed over channels, "
        'the field\'s "RMSE". PSNR in dB. Sharpness: 1 is as sharp as the truth. Latent worth: how much the '
        "LAB error in the shadow grows when the latent is that of another picture. Latent common: the share "
        "of its variance that is common to all pictures. Latent gap: the squared difference between E(x, m) "
        "and E*(y_0, 0), as a share of the variance of E*.",
    ]
    for title, rows in TABLES.items():
        body = [row_cells(text, records.get(name)) for name, text in rows.items()]
        lines += ["", f"## {title}", "", *table_lines(["row", *COLUMNS, *RUN_COLUMNS], body)]
    return "\n".join(lines) + "\n"


def row_cells(title: str, found: dict[str, Any] | None) -> list[str]:
    """The cells of a row; without figures, the reason."""
    if found is None or "failed" in found:
        why = "not run" if found is None else f"failed: {found['failed']}".replace("|", "/")
        return [f"{title} ({why})", *["–"] * (len(COLUMNS) + len(RUN_COLUMNS))]
    return [
        title,
        *cells(found),
        cell(found.get("steps"), 0),
        cell(found.get("images"), 0),
        cell(found.get("minutes"), 1),
        *(cell(found.get(f"latent_{name}")) for name in ("worth", "common", "gap")),
    ]
