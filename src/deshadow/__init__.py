"""Removes shadows from photographs: all of them, or only those that you point at."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deshadow.removal.remover import Remover, remove

__all__ = ["Remover", "__version__", "remove"]
__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import deshadow` is fast."""
    if name in ("Remover", "remove"):
        from deshadow.removal import remover

        return getattr(remover, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
