"""What a run is told: the options of the removal, the networks, and the resources of a worker."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from deshadow.removal.options import RemovalOptions
from deshadow.removal.process import PhotoRequest
from deshadow.runtime.checkpoint import locate, read_header
from deshadow.runtime.choice import Runtime

GIB = 2**30
FIXED_MEMORY = 1.2
"""GiB that a worker needs besides its photo, for Python, Ray and the networks."""
MEGAPIXEL_MEMORY = 0.055
"""GiB for each megapixel of a photo (benchmarks/batch.py --memory: 1.8 GiB at most for 12 megapixels)."""


@dataclass(frozen=True, slots=True)
class Networks:
    """The networks that every worker opens. The files must exist under the same names on all machines."""

    weights: str = "light"
    detector: str = "detector"
    device: str = "auto"
    runtime: Runtime = "auto"

    def on_device(self, gpus: float) -> "Networks":
        """The same networks, on the processor if a worker has no share of a GPU and no device was chosen."""
        return replace(self, device="cpu") if self.device == "auto" and not gpus else self

    def digests(self) -> tuple[str, str]:
        """The digests of the weights of both networks, from the headers of their files."""
        remover, detector = (
            read_header(locate(each))[1].get("digest", "") for each in (self.weights, self.detector)
        )
        return remover, detector


@dataclass(frozen=True, slots=True)
class Resources:
    """What each worker takes, and how many there are. ValueError says which value is out of range."""

    workers: int | None = None
    """Without a number, as many as the machines of the cluster have room for."""
    threads: int = 1
    """Threads of onnxruntime or OpenVINO, which are also the cores that Ray reserves."""
    gpus: float | None = None
    """Share of a GPU; without one, a quarter where the cluster has GPUs."""
    memory: float = 2.75
    """GiB that Ray reserves; larger photos than fit are refused."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"--workers is {self.workers}: it must be 1 or more")
        if self.threads < 1:
            raise ValueError(f"--threads-per-worker is {self.threads}: it must be 1 or more")
        if self.gpus is not None and not 0 <= self.gpus <= 64:
            raise ValueError(f"--gpus-per-worker is {self.gpus}: it must be from 0 to 64")
        if self.memory < 1.3:
            raise ValueError(f"--memory-per-worker is {self.memory}: a worker needs at least 1.3 GiB")

    @property
    def most_pixels(self) -> int:
        """The pixels of the largest photo that fits into the memory."""
        return int(1e6 * (self.memory - FIXED_MEMORY) / MEGAPIXEL_MEMORY)


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker needs to know."""

    options: RemovalOptions = field(default_factory=RemovalOptions)
    request: PhotoRequest = field(default_factory=PhotoRequest)
    networks: Networks = field(default_factory=Networks)
    resources: Resources = field(default_factory=Resources)
    digests: tuple[str, str] = ("", "")
    roots: tuple[str, ...] = ()
    """Addresses with queries, for `Storage`."""
    destination: str = ""

    def describe(self) -> dict[str, Any]:
        """Whatever changes the results, as JSON holds it."""
        options = {name: _plain(value) for name, value in asdict(self.options).items()}
        weights, detector = self.digests
        return {**options, **asdict(self.request), "weights": weights, "detector": detector}


def _plain(value: Any) -> Any:
    """Lists instead of tuples, as JSON reads them."""
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
