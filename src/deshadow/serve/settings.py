"""The settings of a server."""

import ipaddress
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Settings:
    """Where the server listens, and its limits."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    max_pixels: int = 50_000_000
    max_upload: int = 64 * MIB
    queue: int = 16
    """Number of tasks that may wait while one runs."""
    expire: float = 3600.0
    """Seconds after its last use until a photo and its results are deleted."""
    max_store: int = 4096 * MIB
    """Bytes of all stored files together."""
    patience: float = 10.0
    """Seconds that a client may take to send a request, plus, for an upload, its size at the slowest rate."""
    slowest: float = 16 * 1024.0
    """The slowest rate of an upload, in bytes a second."""
    uploads: int = 64
    """Number of uploads at the same time."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError(f"--port is {self.port}: it must be from 0 (any free port) to 65535")
        for name, value in (
            ("--max-megapixels", self.max_pixels),
            ("--max-upload", self.max_upload),
            ("--queue", self.queue),
            ("--expire", self.expire),
        ):
            if value <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.token is not None and (len(self.token) < 16 or not self.token.isascii()):
            raise ValueError(
                "--token needs at least 16 ASCII characters, for example the output of `openssl rand -hex 16`"
            )
        if self.token is None and not self.loopback:
            raise ValueError(f"other machines can reach {self.host}: add --token SECRET, or leave out --host")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
