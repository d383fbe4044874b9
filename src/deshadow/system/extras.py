"""Optional dependencies, and how to install them."""

from importlib.util import find_spec


def require(extra: str, *modules: str) -> None:
    """Raise ValueError with the command to run if a module of an extra is not installed."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise ValueError(f"this needs {', '.join(missing)}: {install_command(extra)}")


def install_command(extra: str) -> str:
    """How a user installs an extra, as long as deshadow is not on PyPI."""
    return f"pip install '.[{extra}]' in the clone of deshadow"
