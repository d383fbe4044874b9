"""What the base install leaves out, and how to get it."""

from importlib.util import find_spec


def require(extra: str, *modules: str) -> None:
    """Say what to install if one of the modules of an extra is missing."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise ValueError(f"this needs {', '.join(missing)}: pip install 'deshadow[{extra}]'")
