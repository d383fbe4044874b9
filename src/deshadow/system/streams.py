"""Standard input, output and error, whatever has become of them."""

import io
import os
import sys
from pathlib import Path


def prepare() -> None:
    """What is closed leads nowhere; what an encoding lacks is escaped, as any bytes may name a file."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the next file that is opened would take its number
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (to the end)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def write_out(data: bytes) -> None:
    """Write a file's bytes to standard output."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError:
        _abandon()
        raise


def finish() -> None:
    """Write what standard output still holds."""
    try:
        sys.stdout.flush()
    except OSError:
        _abandon()
        raise


def _abandon() -> None:
    """Let go of standard output: what it still holds would fail again when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
