"""Ablations: the rows of the paper's Tab. 3 and Tab. 4 and its diffusion baselines, each a training run.

`python -m deshadow.training.ablation` is `deshadow ablate` with torch, numpy, Pillow and safetensors alone.
"""

import gc
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from deshadow.data.augment import Pairs
from deshadow.runtime import checkpoint
from deshadow.runtime.backends import TorchBackend
from deshadow.system.files import write_whole
from deshadow.training.batches import Source, open_source
from deshadow.training.collapse import collapse, draw_collapse
from deshadow.training.endings import ended
from deshadow.training.figures import figures
from deshadow.training.journal import LOG, read_log
from deshadow.training.loop import Interrupted, train
from deshadow.training.options import Options, chosen
from deshadow.training.state import STATE, WEIGHTS
from deshadow.training.tables import INPUT, RECORD, ROWS, read_records, write_tables
from deshadow.training.transplant import transplant
from deshadow.training.validation import LATENT_FIGURES, remove, validation_set
from deshadow.training.world import joined

BEGUN = "options.json"
"""In the folder of a row: what it was begun with."""
MAY_DIFFER = {
    *("out", "backgrounds", "occluders", "skip_problems"),
    *("resume", "pause_after", "device", "compiled", "bfloat16"),
    *("save_every", "log_every", "validate_every"),
}
"""Options that a row may be gone on with otherwise than it was begun: places, and how it is run."""


@dataclass(frozen=True)
class Ablation(Options):
    """The options of every row, as far as the row does not say otherwise."""

    out: Path = Path("runs/ablation")
    """Folder of the tables, and of a run a row."""
    images: int | None = None
    """Length of each row in images; with minutes, whichever ends first."""
    minutes: float | None = None
    """Length of each row in minutes."""
    pause_after: float | None = None
    """Stop after so many minutes of this call; the same command goes on."""
    init: str | None = None
    """Weights that every row starts from, as far as they fit its networks: a path or a name."""
    rows: str = ",".join(ROWS)
    """The rows to run, in this order."""
    lag: int = 5
    """Steps of the denoiser alone before each step of both, in the row `lagged`."""
    noise_steps: int = 50
    """Sampling steps with which the rows are scored that predict noise: noise, palette, repaint."""
    validate_every: int = 1_000_000_000
    """Images between two validations, whose time counts; each row is validated at its end anyhow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [name for name in self.names if name not in ROWS]
        if unknown:
            raise ValueError(f"unknown row {unknown[0]!r}: choose from {', '.join(ROWS)}")
        if self.model.fusion == "none" or self.model.guidance != "latent" or not self.invariant:
            raise ValueError("an ablation leaves something out of the whole: let it have fusion and latent")
        if self.lag < 1 and "lagged" in self.names:
            raise ValueError("--lag must be 1 or more for the row lagged")
        for name in self.names:
            self.row(name)

    @property
    def names(self) -> list[str]:
        """The rows to run."""
        return list(dict.fromkeys(name.strip() for name in self.rows.split(",")))

    def row(self, name: str) -> Options:
        """The training run of a row."""
        common = {each.name: getattr(self, each.name) for each in fields(Options)}
        changes = {"out": self.out / name, "lag": 0, **ROWS[name]}
        if name == "lagged":
            changes["lag"] = self.lag
        if "predicts" in changes:
            changes["val_steps"] = self.noise_steps
        return Options(**(common | changes))


def parse(arguments: Sequence[str]) -> Ablation:
    """An ablation from a command line."""
    about = "Train and score the rows of the paper's ablations; the same command goes on where one stopped."
    return Ablation(
        **chosen(arguments, Ablation, "deshadow ablate", about, first=["data"], without=["resume"])
    )


def main(arguments: Sequence[str] | None = None) -> Path:
    """Ablate, and give the tables; what a user can cause ends in one line and exit code 2."""
    return ended(lambda: ablate(parse(sys.argv[1:] if arguments is None else arguments)))


def ablate(options: Ablation) -> Path:
    """Run the rows that are not done yet, and write the tables and the collapse picture."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError(
            "ablate runs in one process: give each GPU a call with other --rows and the same --out"
        )
    for name in options.names:
        check_begun(options.row(name))
    if options.init is not None:
        checkpoint.locate(options.init)
    began, waiting = time.monotonic(), [name for name in options.names if not done(options.out / name)]

    @cache
    def opened() -> tuple[Source, Pairs]:  # what all rows train on and are scored on is read once
        with joined(options.device) as world:
            source = open_source(options, world.device)
        return source, validation_set(options, source)

    if waiting:
        opened()  # so that bad data ends the call before any row is begun
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        if not done(options.out / INPUT):
            record(options.out / INPUT, figures(opened()[1].picture, opened()[1]))
        for name in waiting:
            left = (options.pause_after or math.inf) - (time.monotonic() - began) / 60
            if name == waiting[0]:
                left = max(left, 1e-6)  # however long opening took, every call gets on
            if left > 0:
                say(f"row {options.names.index(name) + 1} of {len(options.names)}: {name}")
            if left <= 0 or not try_row(options, name, *opened(), left):
                say("paused; the same command goes on")
                break
    except (Interrupted, KeyboardInterrupt):
        say("the same command goes on with this row")
        raise
    finally:
        tables = write_tables(options.out)
    draw_from_rows(options, lambda: opened()[1], anew=bool({"ours", "no-fusion"} & set(waiting)))
    records = read_records(options.out)
    failed = [name for name in options.names if "failed" in records.get(name, {})]
    if failed:
        first = f"{failed[0]} ({records[failed[0]]['failed']})"
        raise ValueError(f"failed: {', '.join([first, *failed[1:]])}; see {tables}, then try again")
    return tables


def try_row(options: Ablation, name: str, source: Source, pairs: Pairs, left: float) -> bool:
    """Run a row, or write down why that failed; False if it was paused."""
    try:
        return run_row(options, name, source, pairs, left)
    except Interrupted:
        raise
    except Exception as error:  # whatever it is, the other rows still run
        reason = " ".join(str(error).split()) or type(error).__name__
        say(f"row {name} failed: {reason}")
        record(options.out / name, {"failed": reason})
        return True
    finally:
        # Compiled code is kept by place in the source, which all rows share, and only for so many models.
        torch.compiler.reset()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def run_row(options: Ablation, name: str, source: Source, pairs: Pairs, left: float) -> bool:
    """Begin or go on with a row for at most so many minutes, and score it; False if it was paused."""
    row = options.row(name)
    row.out.mkdir(parents=True, exist_ok=True)
    resumes = (row.out / STATE).exists()
    if not resumes:  # killed before it saved anything: there is nothing to go on with
        (row.out / LOG).unlink(missing_ok=True)
    begun = comparable(row)
    write_whole(row.out / BEGUN, json.dumps(begun).encode())
    changes: dict[str, Any] = {"resume": resumes}
    share = None
    if options.init is not None:
        changes["init"] = str(row.out / f"init{checkpoint.SUFFIX}")
        share = transplant(options.init, row.model, options.seed, Path(changes["init"]))
    if left < math.inf:
        changes["pause_after"] = left
    row = Options(**({each.name: getattr(row, each.name) for each in fields(row)} | changes))
    validation = train(row, source=replace(source, final=row.final))
    ending = read_log(row.out)[-1]
    if ending["kind"] != "end":
        return False
    model = checkpoint.load(row.out / WEIGHTS)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    alive = row.model.guidance == "latent"
    removed = remove(TorchBackend(model, str(source.device)), pairs, row.val_steps, row.seed)
    record(
        row.out,
        {
            **figures(removed, pairs),
            "pictures": len(pairs.picture),
            "steps": row.val_steps,
            "images": ending["images"],
            "minutes": ending["elapsed"] / 60,
            "parameters": parameters,
            **{name: getattr(validation, name) if alive else None for name in LATENT_FIGURES},
            "from_init": share,
            "options": begun,
        },
    )
    return True


def record(folder: Path, found: dict[str, Any]) -> None:
    """Write down the figures of a row, which makes it a done one, or why it failed."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / RECORD, json.dumps(found, indent=1, allow_nan=False).encode() + b"\n")


def done(folder: Path) -> bool:
    """Whether a row has its figures."""
    path = folder / RECORD
    return path.exists() and "failed" not in json.loads(path.read_text())


def comparable(row: Options) -> dict[str, Any]:
    """What makes a row what it is; of files their names, as they may lie elsewhere the next time."""
    found: dict[str, Any] = json.loads(row.to_json())
    names = {
        "data": None if row.data is None else row.data.resolve().name,
        "init": None if row.init is None else Path(row.init).name,
    }
    return {name: value for name, value in found.items() if name not in MAY_DIFFER} | names


def check_begun(row: Options) -> None:
    """Refuse to go on with a row that was begun with other options."""
    path = row.out / BEGUN
    if not path.exists():
        return
    begun, asked = json.loads(path.read_text()), comparable(row)
    for name, value in asked.items():
        if begun.get(name) != value:
            raise ValueError(
                f"{row.out} was begun with {name} {begun.get(name)}, not {value}: "
                "give the same options, or name another --out"
            )


def draw_from_rows(options: Ablation, pairs: Callable[[], Pairs], *, anew: bool) -> None:
    """The collapse picture (Fig. 6) from the rows without and with fusion, once both are done."""
    rows = {"without fusion": "no-fusion", "dense fusion (ours)": "ours"}
    figure = options.out / "collapse.json"
    if not all(done(options.out / name) for name in rows.values()):
        return
    if anew or not figure.exists():
        weights = {title: str(options.out / name / WEIGHTS) for title, name in rows.items()}
        found = collapse(weights, pairs(), seed=options.seed)
        write_whole(figure, json.dumps(found, allow_nan=False).encode() + b"\n")
    if find_spec("matplotlib") is not None:
        draw_collapse(json.loads(figure.read_text()), figure.with_suffix(".png"))


def say(text: str) -> None:
    """A line on the terminal."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
