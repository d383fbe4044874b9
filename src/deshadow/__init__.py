"""Removes shadows from photographs: all of them, or just the one that you point at."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deshadow.removal.remover import Remover, remove

__all__ = ["Remover", "__version__", "remove"]
__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first asked for, so that `import deshadow` costs nothing."""
    if name in ("Remover", "remove"):
        from deshadow.removal import remover

        return getattr(remover, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
