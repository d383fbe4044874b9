"""Networks that need no weights: dark is shadow, brighter is without. Also a server to try the page on."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import uvicorn
from numpy.typing import NDArray

from deshadow.image.strips import Picture
from deshadow.removal.modes import EndEarlyError, Progress, Stage
from deshadow.removal.options import RemovalOptions, Sensitivity
from deshadow.removal.remover import RemovalResult
from deshadow.removal.selection import Selection, select
from deshadow.serve.app import PageFile, create_app, load_site
from deshadow.serve.settings import Settings


class StandIn:
    """Pixels under 0.25 are shadow; they become twice as bright, column by column of windows.

    It is not sure of blue ones. With high sensitivity, pixels under 0.4 are shadow too.
    """

    def __init__(self, pause: float = 0.0, windows: int = 4) -> None:
        self.pause = pause
        self.windows = windows
        self.detections = 0

    def find_shadows(self, pixels: Picture, sensitivity: Sensitivity = "normal") -> NDArray[np.int32]:
        """(H, W, 3) → (H, W), numbered from the largest shadow on."""
        self.detections += 1
        time.sleep(self.pause)
        return self.label(np.asarray(pixels).max(-1) < (0.4 if sensitivity == "high" else 0.25))

    def find_unsure(
        self, pixels: Picture, labels: NDArray[np.int32], sensitivity: Sensitivity
    ) -> tuple[int, ...]:
        blue = np.subtract(*np.asarray(pixels).T[[2, 0]]).T
        numbers = range(1, int(labels.max(initial=0)) + 1)
        return tuple(n for n in numbers if sensitivity != "high" and blue[labels == n].mean() > 0.05)

    def select(self, pixels: Picture, mask: None, options: RemovalOptions) -> Selection:
        labels = self.find_shadows(pixels, options.sensitivity)
        return select(labels, unsure=self.find_unsure(pixels, labels, options.sensitivity))

    @staticmethod
    def label(dark: NDArray[np.bool_]) -> NDArray[np.int32]:
        """(H, W): each run of columns with dark pixels is one shadow."""
        columns = dark.any(0).astype(np.int32)
        runs = np.cumsum(np.diff(columns, prepend=0) == 1) * columns
        labels = np.where(dark, runs[None, :], 0)
        order = np.argsort(-np.bincount(labels.ravel())[1:], kind="stable")
        renumbered = np.zeros(len(order) + 1, np.int32)
        renumbered[order + 1] = np.arange(1, len(order) + 1)
        return renumbered[labels]

    def relight(
        self,
        pixels: Picture,
        selection: Selection,
        options: RemovalOptions,
        progress: Callable[[Progress], None] | None,
    ) -> RemovalResult | None:
        mask, pixels = selection.mask, np.asarray(pixels)
        if not mask.any():
            return None
        bright = np.minimum(pixels * (1 + options.strength), 1).astype(np.float32)
        so_far = pixels.copy()
        total = self.windows if options.mode == "removal" else 1
        stage: Stage = "windows" if options.mode == "removal" else "quick"
        if progress and stage == "windows":
            progress(Progress(0.0, stage, 0, total))
        for done in range(total):
            edge = slice(done * pixels.shape[1] // total, (done + 1) * pixels.shape[1] // total)
            so_far[:, edge] = np.where(mask[:, edge, None] > 0, bright[:, edge], pixels[:, edge])
            time.sleep(self.pause)
            try:
                if progress:
                    progress(Progress((done + 1) / total, stage, done + 1, total, lambda: so_far))
            except EndEarlyError:
                return RemovalResult(so_far, mask, mask)
        return RemovalResult(bright, mask, mask)


class Live(Mapping[str, PageFile]):
    """The page as it is on disk at this moment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> PageFile:
        return load_site(self.folder)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(load_site(self.folder))

    def __len__(self) -> int:
        return len(load_site(self.folder))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--pause", type=float, default=0.5)
    parser.add_argument("--windows", type=int, default=12)
    chosen = parser.parse_args()
    page = Live(chosen.page) if chosen.page else None
    app = create_app(StandIn(chosen.pause, chosen.windows), Settings(), page)
    print(f"http://127.0.0.1:{chosen.port}/", file=sys.stderr)  # noqa: T201
    config = uvicorn.Config(app, port=chosen.port, timeout_graceful_shutdown=2, log_level="info")
    asyncio.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main()
