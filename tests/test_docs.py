"""README and docs: command lines that need no data set are run as they stand, all others are parsed.

Install lines and the two commands at the top and the bottom of the README are run by `.ci/run`.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from serving import serving

from deshadow.cli.app import app
from deshadow.cli.example import EXAMPLES
from deshadow.training.ablation import parse_ablation
from deshadow.training.distill import parse_distillation
from deshadow.training.options import parse_training
from deshadow.training.rows import INPUT, TABLES

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
]
MIB = 2**20
FORWARDED = {"train": parse_training, "ablate": parse_ablation, "distill": parse_distillation}
BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")
INLINE = re.compile(r"`(deshadow [^`]+)`")
PROGRAMS = (
    r"(?:\$ )?(?:[A-Z_]+=\S+ )?(?:\.venv/bin/)?deshadow(?= )"
    r"|python -m deshadow\.training(?= )|torchrun \S+ \S+ -m deshadow\.training"
)


def read_blocks(page: str, *languages: str) -> list[str]:
    text = (ROOT / page).read_text()
    return [found[2] for found in BLOCK.finditer(text) if found[1] in languages]


def list_commands(page: str) -> Iterator[str]:
    """Every command line of a page that starts deshadow, in blocks, and in the tables of the README."""
    for block in read_blocks(page, "", "sh"):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            if re.match(PROGRAMS, line):
                yield line
    if page == "README.md":
        yield from list_mentions(page)


def list_mentions(page: str) -> list[str]:
    """What the text of a page calls a command; often it is the name alone."""
    return INLINE.findall(BLOCK.sub("", (ROOT / page).read_text()))


COMMANDS = [(page, line) for page in PAGES for line in dict.fromkeys(list_commands(page))]


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[line[:60] for _, line in COMMANDS])
def test_a_command_line_is_one_that_deshadow_takes(page: str, line: str) -> None:
    words = shlex.split(re.sub(PROGRAMS, "deshadow", line, count=1), comments=True)[1:]
    for end in ("&&", ">", "|"):
        words = words[: words.index(end)] if end in words else words
    words = [word.partition("|")[0].rstrip("…") for word in words]  # one of several choices
    if "deshadow.training" in line:
        words = ["train", *words]
    if words and words[0] in FORWARDED:
        if "--help" not in words:
            FORWARDED[words[0]]([{"IMAGES": "1"}.get(word, word) for word in words[1:]])
        return
    command, bound, *_ = app.parse_args(words, exit_on_error=False, print_error=False)
    if command.__name__ == "remove":  # which also takes what is no command
        assert all(re.search(r"[./*]|^[A-Z-]+$", photo) for photo in bound.arguments["photos"])


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_a_page_mentions_exist(page: str) -> None:
    for mention in list_mentions(page):
        name = mention.split()[1]
        assert name in app or re.search(r"[./…*]|^-|^[A-Z]+$", name), mention


def run(script: str, folder: Path) -> str:
    """Run lines of a shell, with this environment's deshadow; they must all succeed."""
    environment = {**os.environ, "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the docs name: photos with shadows, and masks."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    photo = Image.open(EXAMPLES / "lawn.jpg").resize((300, 200))  # small, so that a command takes a second
    photo.save(tmp_path / "photo.jpg", quality=95)
    small = photo.resize((150, 100))
    mask = Image.new("L", small.size)
    mask.paste(255, (10, 10, 70, 90))
    for name in ("holiday", "masks"):
        (tmp_path / name).mkdir()
    small.save(tmp_path / "holiday/img_1.jpg")
    small.save(tmp_path / "img_2.png")
    for name in ("shadow.png", "masks/img_1.png"):
        mask.save(tmp_path / name)
    return tmp_path


def lines_without_server(page: str) -> str:
    """The blocks of a page for the shell, less what installs and what serves."""
    lines = "\n".join(read_blocks(page, "sh")).splitlines()
    return "\n".join(line for line in lines if not re.search(r"pip install|deshadow serve|bin/pytest", line))


def test_the_lines_about_photos_do_what_they_say(folder: Path) -> None:
    run(lines_without_server("README.md") + lines_without_server("docs/using.md"), folder)
    for name in (
        *("photo.deshadowed.jpg", "results/img_1.jpg", "img_2.deshadowed.png"),
        *("result.webp", "result.jpg", "mask.png", "overlay.png"),
    ):
        assert (folder / name).is_file(), name
    before, after = (np.asarray(Image.open(folder / name), float) for name in ("photo.jpg", "result.jpg"))
    assert after.mean() > before.mean() + 2


def test_the_lines_of_python_run(folder: Path) -> None:
    given = """
import numpy as np
from PIL import Image
image = np.asarray(Image.open("photo.jpg"))
mask = np.zeros(image.shape[:2], bool); mask[80:120, 130:170] = True
pixels, paths = image / np.float32(255), ["holiday/img_1.jpg"]
"""
    script = "\n".join(read_blocks("docs/using.md", "python"))
    networks = """
picture, mask = (np.zeros((1, channels, 64, 64), np.float32) for channels in (3, 1))
"""
    script += networks + read_blocks("README.md", "python")[1]
    done = subprocess.run(
        [sys.executable, "-c", given + script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def list_servers() -> list[str]:
    """The lines that start a server, on any free port, since another test may use theirs."""
    lines = [line for page in PAGES for block in read_blocks(page, "sh") for line in block.splitlines()]
    found = [
        line.partition("#")[0].rpartition("&& ")[2].strip() for line in lines if "deshadow serve" in line
    ]
    plain = [re.sub(r" --port \d+", "", line) for line in found]
    return list(dict.fromkeys(re.sub(r"(\S*deshadow serve)", r"exec \1 --port 0", line) for line in plain))


@pytest.mark.parametrize("line", list_servers())
def test_a_line_that_serves_prints_an_address(line: str, folder: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
        "BROWSER": "true",
    }
    command = ["bash", "-c", line]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert any("http://" in said for said in process.stdout)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_the_calls_of_curl_do_what_they_say(folder: Path) -> None:
    """The photo is that of the answer in the docs, and the networks stand in for those of weights."""
    picture = np.full((300, 400, 3), 180, np.uint8)
    picture[50:250, 250:350], picture[100:200, 50:120] = 40, (20, 20, 50)  # not sure of what is blue
    Image.fromarray(picture).save(folder / "photo.jpg", quality=100, subsampling=0)
    Image.fromarray((picture[..., 0] < 100).astype(np.uint8) * 255).save(folder / "mask.png")
    script = "\n".join(read_blocks("docs/serving.md", "sh")[1:])
    assert script.count("curl") == script.count("curl --fail-with-body") == 10
    with serving() as server:
        said = run(script.replace("8765", str(server.port)), folder)
    for name in ("clean.jpg", "one.jpg", "masked.jpg", "photo.deshadowed.jpg"):
        assert np.asarray(Image.open(folder / name)).shape == (300, 400, 3)
    (told,) = read_blocks("docs/serving.md", "json")
    found = json.loads(re.search(r'\{"instances".*?labels\.png\?sensitivity=normal"\}', said, re.S)[0])  # type: ignore[index]
    assert found["instances"] == json.loads(told)["instances"]
    assert "event: end" in said


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_are_there(page: str) -> None:
    text = BLOCK.sub("", (ROOT / page).read_text())
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"(?m)^#+ (.+)$", BLOCK.sub("", path.read_text()))
            slugs = [re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings]
            assert anchor in slugs, target


def test_the_figures_of_the_ablations_are_those_of_their_records() -> None:
    records = json.loads((ROOT / "docs/tables.json").read_text())["rows"]
    trained = records.keys() - {INPUT}
    expected = [["the shadow picture itself", *list_figures(records[INPUT])]]
    for rows in TABLES.values():
        expected += [[title, *list_figures(records[name])] for name, title in rows.items() if name in trained]
    assert sorted(read_rows((ROOT / "docs/ablations.md").read_text())) == sorted(expected)


def test_the_model_card_has_the_figures_of_the_ablations() -> None:
    records = json.loads((ROOT / "docs/tables.json").read_text())["rows"]
    card = (ROOT / "docs/model-card.md").read_text()
    section = card[card.index("### The paper's ablations") : card.index("## Where it fails")]
    expected = []
    for names in (
        *(["none", "none-seed2"], ["colour"], ["coarse"], ["no-invariant"], ["no-stage-one"]),
        *(["latent", "latent-seed2"], ["no-fusion"], ["lagged"], ["map"]),
        *(["palette"], ["noise-none"], ["noise-frozen"], ["noise-v"]),
    ):
        cells = (", ".join(each) for each in zip(*(list_figures(records[n]) for n in names), strict=True))
        shadow, outside, everywhere, _, psnr, ssim, _, worth, *_ = cells
        expected.append([shadow, outside, everywhere, f"{psnr} dB", ssim, worth.strip(", ")])
    assert [cells for _, *cells in read_rows(section)] == expected


def read_rows(text: str) -> list[list[str]]:
    """The cells of all lines of tables that hold an error."""
    rows = [line for line in text.splitlines() if re.search(r"\| \d+\.\d\d\b", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows]


def list_figures(record: dict[str, Any]) -> list[str]:
    """The cells of a row of an ablation in the docs; empty where there is no figure."""
    shadow, outside, everywhere = (record["regions"][name] for name in ("shadow", "non_shadow", "all"))
    figures = [f"{each['lab_mae']:.2f}" for each in (shadow, outside, everywhere)]
    figures += [f"{shadow['psnr']:.2f}", f"{everywhere['psnr']:.2f}", f"{everywhere['ssim']:.3f}"]
    digits = {"latent_worth": "+.2f", "latent_common": ".2f", "latent_gap": ".2f", "latent_gap_shadow": ".2f"}
    latent = [format(record[name], each) if record.get(name) else "" for name, each in digits.items()]
    return [*figures, f"{record['sharpness']:.2f}", *latent]


def test_pictures_are_small_and_the_repository_too() -> None:
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in (".webp", ".png", ".jpg"):
            assert path.stat().st_size < 250_000, path
    assert measure_folder(ROOT / "src/deshadow/weights") < 26 * MIB
    assert sum(measure_folder(ROOT / name) for name in ("src", "docs", "tests", "benchmarks")) < 30 * MIB


def measure_folder(folder: Path) -> int:
    """Bytes of the files in a folder, without what Python compiled."""
    files = (path for path in folder.rglob("*") if "__pycache__" not in path.parts and path.is_file())
    return sum(path.stat().st_size for path in files)
