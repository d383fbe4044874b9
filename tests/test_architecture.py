"""The order of the packages: who may import whom, read from the source of every module."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import deshadow

ROOT = Path(deshadow.__file__).parent
BELOW: dict[str, tuple[str, ...]] = {
    "system": (),
    "image": (),
    "diffusion": (),
    "photo": ("image",),
    "metrics": ("image",),
    "nn": ("diffusion",),
    "runtime": ("nn", "diffusion"),
    "data": ("image", "photo"),
    "removal": ("runtime", "photo", "image", "diffusion"),
    "training": ("data", "runtime", "removal", "nn", "diffusion", "image", "photo", "metrics"),
    "evaluation": ("data", "runtime", "removal", "nn", "diffusion", "image", "photo", "metrics"),
}
"""The packages that each package may import, besides itself and `system`."""
BELOW["cluster"] = ("removal", "runtime", "photo", "image")
BELOW["serve"] = tuple(BELOW)
BELOW["cli"] = (*BELOW, "")
OPTIONAL = {
    "torch",
    "triton",
    "onnx",
    "onnxscript",
    "onnxruntime",
    "openvino",
    "matplotlib",
    "fastapi",
    "uvicorn",
    "ray",
    "pyarrow",
    "fsspec",
    "rich",
}
"""A module that works without these may import, inside a function, another one that needs them."""
FOR_TRAINING = {"torch", "numpy", "PIL", "safetensors", "deshadow"}


class Import(NamedTuple):
    """An import of a module, by its full name."""

    name: str
    inside: str
    """The function that it is in, or nothing."""
    for_types: bool
    """Whether it is under TYPE_CHECKING."""


def module_name(path: Path) -> str:
    parts = ("deshadow", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in ROOT.rglob("*.py")}


def package(module: str) -> str:
    """The package of a module, or nothing for the top of `deshadow`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (ROOT / parts[1]).is_dir() else ""


@cache
def imports(module: str) -> tuple[Import, ...]:
    return tuple(walk(ast.parse(MODULES[module].read_text()), "", False))


def walk(node: ast.AST, inside: str, for_types: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, inside, for_types) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        names = {f"{node.module}.{alias.name}" for alias in node.names} - {"deshadow.__version__"}
        found = {name if name in MODULES else str(node.module) for name in names}
        yield from (Import(name, inside, for_types) for name in sorted(found))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        inside = inside or getattr(node, "name", "lambda")
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for_types = True
    for child in ast.iter_child_nodes(node):
        yield from walk(child, inside, for_types)


@cache
def loaded(module: str) -> frozenset[str]:
    """Everything that importing a module imports, other packages by their first name."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for each in imports(waiting.pop()):
            name = each.name if each.name in MODULES else each.name.split(".")[0]
            if not each.inside and not each.for_types and name not in found:
                found.add(name)
                waiting += [name] if name in MODULES else []
    return frozenset(found)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_only_packages_below_its_own(module: str) -> None:
    own = package(module)
    if not own:
        return
    allowed = {own, "system", *BELOW[own]}
    wrong = [
        each.name for each in imports(module) if each.name in MODULES and package(each.name) not in allowed
    ]
    assert not wrong, f"{module} imports {', '.join(wrong)}"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_an_import_in_a_function_avoids_an_optional_package_and_hides_no_cycle(module: str) -> None:
    if package(module) == "cli" or module == "deshadow.__main__":
        return
    wrong = []
    for each in imports(module):
        if each.name not in MODULES or not each.inside or each.inside == "__getattr__":
            continue
        avoided = (loaded(each.name) - loaded(module)) & OPTIONAL
        if not avoided or module in loaded(each.name):
            wrong.append(f"{each.name} in {each.inside}()")
    assert not wrong, f"{module} imports {', '.join(wrong)}"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_no_module_imports_itself_by_way_of_others(module: str) -> None:
    assert module not in loaded(module)


def test_every_package_has_a_place_in_the_order() -> None:
    packages = {path.name for path in ROOT.iterdir() if any(path.glob("*.py"))}
    assert packages == set(BELOW)


def test_at_most_three_modules_are_at_the_top() -> None:
    assert len(list(ROOT.glob("*.py"))) <= 3


def test_configurations_and_layouts_of_networks_need_no_torch() -> None:
    for module in (
        "deshadow.nn.config",
        "deshadow.nn.layout",
        "deshadow.runtime.open",
        "deshadow.removal.remover",
    ):
        assert "torch" not in loaded(module), module


def test_training_needs_torch_numpy_pillow_and_safetensors_alone() -> None:
    names = {name for name in loaded("deshadow.training.__main__") if name not in MODULES}
    assert names - set(sys.stdlib_module_names) <= FOR_TRAINING
