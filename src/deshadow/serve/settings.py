"""What whoever starts the server can choose."""

import ipaddress
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Settings:
    """Where to listen, and how much to take on."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    max_pixels: int = 50_000_000
    max_upload: int = 64 * MIB
    queue: int = 16
    """Pictures that may wait beside the one that is worked on."""
    expire: float = 3600.0
    """Seconds after its last use that a photo and its results are kept."""
    max_store: int = 4096 * MIB
    """Bytes of all files together."""
    patience: float = 10.0
    """Seconds that a request or an upload may keep us waiting, beyond what the slowest rate allows for."""
    slowest: float = 16 * 1024.0
    """Bytes a second."""
    uploads: int = 64
    """Uploads at the same time."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError(f"--port is a number from 0 (any free port) to 65535, not {self.port}")
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
                "a --token needs at least 16 plain characters, such as `openssl rand -hex 16` gives"
            )
        if self.token is None and not self.loopback:
            raise ValueError(
                f"{self.host} can be reached from other machines: add --token SECRET, or leave out --host"
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
