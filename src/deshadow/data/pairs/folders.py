"""Finds the samples in folders: files whose names belong together, and files without a partner."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from deshadow.data.pairs.layouts import Parts
from deshadow.data.pairs.pictures import PictureFile, is_picture, read_grey
from deshadow.data.pairs.sample import Problem, Sample

# What a name may carry behind that of the shadow picture.
_CLEAN_ENDINGS = ("_no_shadow", "_shadow_free", "_free", "_clean")
_MASK_ENDINGS = ("_mask", "_shadow_mask")
# In DESOBA's ShadowMask 255 marks shadows without an object, which its authors do not count as instances.
_NO_OBJECT = 255
_OTHER = re.compile(r"(.+)_\d+_other")
# More grey levels than this are a soft edge or JPEG, not labels.
_MOST_LABELS = 100

Found = tuple[list[Sample], list[Problem]]


def read_folders(parts: Parts) -> Found:
    """Samples of a split with a folder each for shadow, clean and perhaps mask."""
    shadow, problems = _listing(parts.shadow)
    clean = _partners(parts.clean, shadow, _CLEAN_ENDINGS, problems)
    masks = _partners(parts.mask, shadow, _MASK_ENDINGS, problems) if parts.mask else {}
    problems += [
        Problem(str(path), f"no partner in {parts.clean.name}/")
        for name, path in shadow.items()
        if name not in clean
    ]
    scenes = _scenes({name: clean[name] for name in shadow if name in clean})
    others = _others(parts.instances) if parts.instances else {}
    samples = [
        Sample(
            name=name,
            scene=scene,
            split=parts.split,
            picture_file=PictureFile(shadow[name]),
            clean_file=PictureFile(clean[name]),
            mask_file=PictureFile(masks[name]) if name in masks else None,
            instance=0 if name in masks and name in others else None,
            other_files=tuple(others.get(name, ())),
        )
        for name, scene in scenes.items()
    ]
    return samples, problems


def read_instances(parts: Parts) -> Found:
    """Samples of a split with a mask per shadow: one for every instance of every picture."""
    assert parts.mask is not None
    shadow, problems = _listing(parts.shadow)
    clean = _partners(parts.clean, shadow, _CLEAN_ENDINGS, problems)
    masks, doubles = _listing(parts.mask)
    problems += doubles
    wanted = list(shadow)
    if parts.names is not None:
        wanted = [Path(line.split()[0]).stem for line in parts.names.read_text().splitlines() if line.strip()]
        # What belongs to the other splits is theirs to report.
        problems = [problem for problem in problems if Path(problem.file).stem in set(wanted)]
    samples: list[Sample] = []
    for name in wanted:
        if name not in shadow:
            problems.append(Problem(f"{parts.shadow / name}", f"not found, though {parts.names} lists it"))
        elif name not in clean:
            problems.append(Problem(str(shadow[name]), f"no partner in {parts.clean.name}/"))
        else:
            try:
                instances = list(_instances(name, parts.mask, masks))
            except ValueError as error:
                problems.append(Problem(str(masks.get(name, parts.mask / name)), str(error)))
                continue
            if not instances:
                problems.append(Problem(str(shadow[name]), f"no shadow of it in {parts.mask.name}/"))
            for label, file, level in instances:
                files = (PictureFile(shadow[name]), PictureFile(clean[name]), PictureFile(file))
                samples.append(Sample(f"{name}_{label}", name, parts.split, *files, instance=level))
    return samples, problems


def _instances(name: str, folder: Path, masks: dict[str, Path]) -> Iterable[tuple[str, Path, int]]:
    """(label, mask file, grey level or 0) of each shadow of a picture.

    Published is one file whose grey levels number the shadows; a file per shadow (NAME_1.png, NAME/1.png)
    is read too.
    """
    if name in masks:
        levels = np.unique(read_grey(PictureFile(masks[name])))
        levels = levels[levels > 0]
        if len(levels) > _MOST_LABELS:
            raise ValueError(f"the mask has {len(levels)} grey levels: it should have one for each shadow")
        counted = levels[levels != _NO_OBJECT]
        for level in (counted if len(counted) else levels).tolist():
            yield str(level), masks[name], level
    elif (folder / name).is_dir():
        for path in sorted((folder / name).iterdir()):
            if is_picture(path):
                yield path.stem, path, 0
    else:
        for stem, path in masks.items():
            label = stem.removeprefix(name)
            if label != stem and re.fullmatch(r"[_-]\d+", label):
                yield label[1:], path, 0


def _others(folder: Path) -> dict[str, list[PictureFile]]:
    """The masks of shadows that stay, as `deshadow synth` writes them (NAME_SLOT_other.png), by picture."""
    found: dict[str, list[PictureFile]] = {}
    for path in sorted(folder.iterdir()):
        if is_picture(path) and (named := _OTHER.fullmatch(path.stem)):
            found.setdefault(named.group(1), []).append(PictureFile(path))
    return found


def _listing(folder: Path) -> tuple[dict[str, Path], list[Problem]]:
    """The pictures of a folder by their name without ending, and those whose name is taken."""
    paths: dict[str, Path] = {}
    doubles = []
    for path in sorted(folder.iterdir()):
        if is_picture(path):
            if path.stem in paths:
                doubles.append(Problem(str(path), f"the same name as {paths[path.stem].name}"))
            paths.setdefault(path.stem, path)
    return paths, doubles


def _partners(
    folder: Path, names: dict[str, Path], endings: tuple[str, ...], problems: list[Problem]
) -> dict[str, Path]:
    """The pictures of a folder by the name of the shadow picture they belong to; the rest are problems."""
    listing, doubles = _listing(folder)
    problems += doubles
    partners: dict[str, Path] = {}
    for stem, path in listing.items():
        stems = (stem, *(stem.removesuffix(ending) for ending in endings))
        name = next((name for name in stems if name in names), None)
        if name is None:
            problems.append(Problem(str(path), "no shadow picture of this name"))
        elif name in partners:
            problems.append(Problem(str(path), f"a second partner of {names[name].name}"))
        else:
            partners[name] = path
    return partners


def _scenes(clean: dict[str, Path]) -> dict[str, str]:
    """The scene of each name: 12 for ISTD's 12-3, otherwise the first name with the very same clean picture.

    SRD holds the same shadow-free photo under many names; pairs of one place must not fall on both sides of
    a split. Files of different length differ, so only those of equal length are read.
    """
    # A broken link has no size; it becomes a problem when it is opened.
    lengths = {name: path.stat().st_size if path.exists() else -1 for name, path in clean.items()}
    counts = Counter(lengths.values())
    first: dict[bytes, str] = {}
    scenes = {}
    for name in clean:
        if numbered := re.fullmatch(r"(\d+)-\d+", name):
            scenes[name] = numbered.group(1)
        elif lengths[name] < 0 or counts[lengths[name]] == 1:
            scenes[name] = name
        else:
            content = hashlib.sha256(clean[name].read_bytes()).digest()
            scenes[name] = first.setdefault(content, name)
    return scenes
