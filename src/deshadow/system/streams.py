"""Standard input, output and error, also where a caller closed them."""

import io
import os
import sys
from pathlib import Path


def prepare() -> None:
    """Replace closed streams by the null device, and escape characters that standard output cannot encode.

    Any bytes may be a file name, so that some names cannot be encoded.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the next file to be opened would get its descriptor
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (open until the process ends)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def write_out(data: bytes) -> None:
    """Write a file's bytes to standard output; ValueError says why it cannot be written."""
    if getattr(sys.stdout, "name", "") == os.devnull:  # `prepare` found it closed
        raise ValueError("standard output is closed: name a file instead of -")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _abandon()
        raise
    except OSError as error:
        _abandon()
        raise ValueError(f"standard output cannot be written ({error.strerror or error})") from error


def finish() -> None:
    """Flush standard output."""
    try:
        sys.stdout.flush()
    except OSError:
        _abandon()
        raise


def _abandon() -> None:
    """Redirect standard output to the null device: flushing it at exit would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
