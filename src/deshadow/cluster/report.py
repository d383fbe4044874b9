"""The report on a manifest: totals, and a contact sheet of some results and of failed photos."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from PIL import Image

from deshadow.cluster.manifest import count, find_manifest
from deshadow.cluster.storage import Storage, clean_address
from deshadow.image.sheets import Card, draw_sheet
from deshadow.photo import read_photo
from deshadow.removal.sheets import encode_image, shrink_picture
from deshadow.system.files import write_output

_TILE, _SAMPLE, _FAILURES, _COLUMNS = 256, 12, 8, 2
_GREY = "#d8d8d8"


def make_report(manifest: str, sheet: Path) -> str:
    """Draw the contact sheet of a manifest; returns its totals as lines of text."""
    storage = Storage(manifest)
    rows = find_manifest(storage, clean_address(manifest))
    draw_rows(storage, rows, sheet)
    return "\n".join([*_list_totals(rows), f"The contact sheet is {sheet}."])


def _list_totals(rows: pa.Table) -> list[str]:
    compute = pyarrow.compute
    states = count(rows)
    processed = rows.filter(compute.not_equal(rows["status"], "failed"))
    lines = [f"{len(rows):,} photos: " + ", ".join(f"{states[name]:,} {name}" for name in sorted(states))]
    if len(processed):
        megapixels = compute.sum(
            compute.multiply(processed["width"].cast("int64"), processed["height"])
        ).as_py()
        seconds, size = compute.sum(processed["seconds"]).as_py(), compute.sum(processed["bytes"]).as_py()
        lines += [
            f"{compute.sum(processed['shadows']).as_py():,} shadows found; "
            f"{100 * compute.mean(processed['fraction_relit']).as_py():.0f} % of a photo relit on average",
            f"{megapixels / 1e6:,.1f} megapixels in {seconds / 3600:,.2f} worker-hours, "
            f"{size / 2**20:,.1f} MiB of results",
        ]
    failed = rows.filter(compute.equal(rows["status"], "failed"))
    return [*lines, *(f"failed: {error}" for error in failed["error"].slice(0, _FAILURES).to_pylist())]


def draw_rows(storage: Storage, rows: pa.Table, sheet: Path) -> None:
    """Write a picture of before and after for a sample of the rows, then of failed photos."""
    failed = rows.filter(pyarrow.compute.equal(rows["status"], "failed"))
    others = rows.filter(pyarrow.compute.not_equal(rows["status"], "failed"))
    chosen = np.unique(np.linspace(0, max(0, len(others) - 1), _SAMPLE).astype(int))
    cards = [_draw(storage, row) for row in (others.take(chosen).to_pylist() if len(others) else [])]
    cards += [_draw(storage, row) for row in failed.slice(0, _FAILURES).to_pylist()]
    note = f"{len(cards) - min(_FAILURES, len(failed))} of {len(others):,} results, before and after"
    note += f"; {min(_FAILURES, len(failed))} of {len(failed):,} failed photos" if len(failed) else ""
    drawn = draw_sheet(cards, _COLUMNS, title="deshadow batch", note=note)
    write_output(sheet, encode_image(drawn, "PNG" if sheet.suffix.lower() == ".png" else "JPEG"))


def _draw(storage: Storage, row: dict[str, Any]) -> Card:
    name = row["source"].rpartition("/")[2]
    if row["status"] == "failed":
        return Card([_view(storage, row["source"])], row["error"] or name)
    views = [_view(storage, row[place]) for place in ("source", "destination")]
    return Card(
        views, name, f"{100 * row['fraction_relit']:.0f} % relit" if row["status"] == "done" else "no shadow"
    )


def _view(storage: Storage, address: str) -> Image.Image:
    """A small picture of a photo, or a grey one if it cannot be read."""
    with suppress(ValueError, OSError):
        return shrink_picture(read_photo(storage.read(address), address).pixels, _TILE)
    return Image.new("RGB", (_TILE, _TILE // 2), _GREY)
