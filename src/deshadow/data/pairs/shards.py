"""pairs.csv: a table with a row for each pair; the pictures are in folders or tar shards beside it."""

import csv
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from deshadow.data.pairs.pictures import PictureFile
from deshadow.data.pairs.sample import Problem, Sample

PAIRS_TABLE = "pairs.csv"
_COLUMNS = ("shadow", "shadow_free")


def read_rows(folder: Path) -> list[dict[str, str]]:
    """The rows of pairs.csv, column names in lower case; ValueError if it has no such columns."""
    path = folder / PAIRS_TABLE
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = csv.DictReader(file)
            names = [(name or "").strip().lower() for name in table.fieldnames or ()]
            table.fieldnames = names
            rows = [{key: (value or "").strip() for key, value in row.items() if key} for row in table]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a table in UTF-8 with commas ({error})") from error
    missing = [column for column in _COLUMNS if column not in names]
    if missing:
        raise ValueError(
            f"{path} has no column {' nor '.join(missing)}; it needs shadow and shadow_free, "
            "and may have mask, scene and split"
        )
    return rows


def read_shards(folder: Path) -> tuple[dict[str, PictureFile], list[Problem]]:
    """Every file inside the tar shards of a folder by its name, and the shards that are broken."""
    members: dict[str, PictureFile] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.tar")):
        try:
            with tarfile.open(path, "r:") as shard:
                for entry in shard:
                    if entry.isreg():
                        name = entry.name.removeprefix("./")
                        members.setdefault(name, PictureFile(path, name, entry.offset_data, entry.size))
        except (tarfile.TarError, OSError, EOFError) as error:
            problems.append(Problem(str(path), f"this shard cannot be read to its end ({error})"))
    return members, problems


def read_table(folder: Path, rows: list[dict[str, str]]) -> tuple[list[Sample], list[Problem], int]:
    """The samples of the rows, what is wrong, and how many rows have no file here (their shard is absent)."""
    members, problems = read_shards(folder)
    samples: list[Sample] = []
    absent = 0
    for row in rows:
        names = {role: row.get(role, "") for role in ("shadow", "shadow_free", "mask")}
        found = {role: _locate(folder, name, members) for role, name in names.items() if name}
        lost = [names[role] for role, source in found.items() if source is None]
        # Pictures of one scene share the clean one, which may lie in a shard that is here.
        own = [source for role, source in found.items() if role != "shadow_free" and source]
        if not names["shadow"] or not names["shadow_free"]:
            problems.append(
                Problem(str(folder / PAIRS_TABLE), f"a row without a pair: {','.join(row.values())}")
            )
        elif not own and (members or not (folder / names["shadow"]).parent.is_dir()):
            absent += 1
        elif lost:
            reason = f"{' and '.join(lost)}: not found"
            problems.append(Problem(str(folder / names["shadow"]), reason))
        else:
            samples.append(_sample(row, found))
    return samples, problems, absent


def _locate(folder: Path, name: str, members: Mapping[str, PictureFile]) -> PictureFile | None:
    path = folder / name
    return PictureFile(path) if path.is_file() else members.get(name.removeprefix("./"))


def _sample(row: Mapping[str, str], found: Mapping[str, PictureFile | None]) -> Sample:
    picture, clean = found["shadow"], found["shadow_free"]
    assert picture is not None
    assert clean is not None
    name, scene = (PurePosixPath(row[role]).with_suffix("") for role in _COLUMNS)
    return Sample(
        name=str(PurePosixPath(*name.parts[1:])) if len(name.parts) > 1 else str(name),
        scene=row.get("scene") or str(scene),
        split=row.get("split", ""),
        picture_file=picture,
        clean_file=clean,
        mask_file=found.get("mask"),
    )
