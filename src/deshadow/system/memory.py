"""Memory that was freed goes back to the operating system."""

import ctypes
import sys


def release_freed_memory() -> None:
    """Return memory that libraries have freed to the system; glibc would keep much of it for later."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries do not have it
        if trim is not None:
            trim(0)
