"""One row of an ablation: its training run, its figures, and the files that let it be resumed."""

import gc
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from deshadow.data.augment import Pairs
from deshadow.runtime import checkpoint
from deshadow.runtime.torch_backend import TorchBackend
from deshadow.system.files import write_whole
from deshadow.training.arguments import change, list_defaults
from deshadow.training.batches import Source
from deshadow.training.digest import digest_code
from deshadow.training.endings import Interrupted
from deshadow.training.figures import measure_figures
from deshadow.training.journal import read_log
from deshadow.training.loop import train
from deshadow.training.options import DataOptions, TrainingOptions
from deshadow.training.state import STATE, WEIGHTS
from deshadow.training.tables import RECORD
from deshadow.training.transplant import transplant
from deshadow.training.validation import LATENT_FIGURES, remove_shadows

OpenData = Callable[[DataOptions], tuple[Source, Pairs]]
"""What a row is trained on, and what it is scored on."""
BEGUN = "options.json"
"""File in the folder of a row: the options that it was started with."""
CODE = "code.json"
"""File in the folder of a row: the digests of the code of its calls, if it is resumed with other code."""
MAY_DIFFER = {
    *("out", "backgrounds", "occluders", "skip_problems"),
    *("resume", "pause_after", "device", "compiled", "bfloat16"),
    *("save_every", "log_every", "validate_every"),
}
"""Options that may change when a row is resumed: where files lie, and how the row is computed."""


def try_row(row: TrainingOptions, open_data: OpenData, left: float) -> bool:
    """Run a row, or record why it failed; False if it was paused."""
    try:
        return run_row(row, open_data, left)
    except Interrupted:
        raise
    except Exception as error:  # the other rows run all the same
        reason = " ".join(str(error).split()) or type(error).__name__
        say(f"row {row.out.name} failed: {reason}")
        write_record(row.out, {"failed": reason})
        return True
    finally:
        # torch keeps compiled code by its line in the source, which all rows share, for a few models only.
        torch.compiler.reset()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def run_row(row: TrainingOptions, open_data: OpenData, left: float) -> bool:
    """Start or resume a row for at most `left` minutes, and score it; False if it was paused."""
    begun, code, share = comparable(row), begin_row(row), None
    changes: dict[str, Any] = {"resume": (row.out / STATE).exists()}
    if row.network.init is not None:
        changes["init"] = str(row.out / f"init{checkpoint.SUFFIX}")
        share = transplant(row.network.init, row.network.model, row.seed, Path(changes["init"]))
    if left < math.inf:
        changes["pause_after"] = left
    row = change(row, changes)
    source, pairs = open_data(row.inputs)
    validation = train(row, source=source.for_run(row))
    ending = read_log(row.out)[-1]
    if ending["kind"] != "end":
        return False
    model = checkpoint.load_remover(row.out / WEIGHTS)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    alive = row.network.model.guidance == "latent"
    steps, anchor = row.val_steps, row.validation.val_anchor
    backend = TorchBackend(model, str(source.device), "float32")
    write_record(
        row.out,
        {
            **measure_figures(remove_shadows(backend, pairs, steps, row.seed, anchor=anchor), pairs),
            "seed": row.seed,
            "steps": steps,
            "anchor": anchor,
            "images": ending["images"],
            "minutes": ending["elapsed"] / 60,
            "parameters": parameters,
            **{name: getattr(validation, name) if alive else None for name in LATENT_FIGURES},
            "from_init": share,
            "code": code,
            "options": begun,
        },
    )
    return True


def begin_row(row: TrainingOptions) -> list[dict[str, str]]:
    """Write the options of a row into its folder; returns the digests of all code that it has run with."""
    row.out.mkdir(parents=True, exist_ok=True)
    codes: list[dict[str, str]] = []
    if (row.out / STATE).exists() and (row.out / CODE).exists():
        codes = json.loads((row.out / CODE).read_text())
    codes += [digest_code()] if digest_code() not in codes else []
    write_whole(row.out / BEGUN, json.dumps(comparable(row)).encode())
    write_whole(row.out / CODE, json.dumps(codes).encode())
    return codes


def write_record(folder: Path, found: dict[str, Any]) -> None:
    """Write the figures of a row, or why it failed; a row with figures counts as done."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {"row": folder.name, **found}
    write_whole(folder / RECORD, json.dumps(record, indent=1, allow_nan=False).encode() + b"\n")


def is_done(folder: Path) -> bool:
    """Whether a row has its figures."""
    path = folder / RECORD
    return path.exists() and "failed" not in json.loads(path.read_text())


def comparable(row: TrainingOptions) -> dict[str, Any]:
    """The options that must stay the same when a row is resumed; of paths only the names of the files."""
    found: dict[str, Any] = json.loads(row.to_json())
    names = {
        "data": None if row.inputs.data is None else row.inputs.data.resolve().name,
        "init": None if row.network.init is None else Path(row.network.init).name,
        "encoder": None if row.network.encoder is None else Path(row.network.encoder).name,
    }
    return {name: value for name, value in found.items() if name not in MAY_DIFFER} | names


def check_begun(row: TrainingOptions) -> None:
    """Refuse to resume a row that was started with other options."""
    path = row.out / BEGUN
    if not path.exists():
        return
    # The default of a new option does what was done before it, so that rows begun without it can be resumed.
    begun, asked = list_defaults(TrainingOptions) | json.loads(path.read_text()), comparable(row)
    for name, value in asked.items():
        if begun[name] != value:
            raise ValueError(
                f"{row.out} was started with {name} {begun[name]}, not {value}: "
                "give the same options, or name another --out"
            )


def say(text: str) -> None:
    """Write a line to the terminal."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
