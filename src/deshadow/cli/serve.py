"""The options of `deshadow serve`. What they start is imported when it runs: `--help` answers at once."""

from typing import Annotated

from cyclopts import Parameter


def serve(
    *,
    host: Annotated[str, Parameter(help="Address to listen on. Others than this machine's need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, Parameter(help="Port to listen on; 0 takes any free one.")] = 8765,
    no_browser: Annotated[bool, Parameter(negative=(), help="Do not open the browser.")] = False,
    token: Annotated[
        str | None, Parameter(env_var="DESHADOW_TOKEN", help="Secret that every request must bring.")
    ] = None,
    weights: Annotated[str, Parameter(help="A .safetensors file, or the name of shipped weights.")] = "light",
    detector: Annotated[str, Parameter(help="The same for the shadow detector.")] = "detector",
    device: Annotated[str, Parameter(help="auto, cpu or cuda.")] = "auto",
    max_megapixels: Annotated[float, Parameter(help="Largest photo to take, in millions of pixels.")] = 50.0,
    max_upload: Annotated[float, Parameter(help="Largest upload to take, in MiB.")] = 64.0,
    queue: Annotated[int, Parameter(help="Photos that may wait; more are told to come back later.")] = 16,
    expire: Annotated[float, Parameter(help="Minutes after its last use that a photo is kept.")] = 60.0,
) -> None:
    """Open a page where you click or paint a shadow and it goes; also an HTTP API."""
    from deshadow.system.extras import require

    require("web", "fastapi", "uvicorn", "python_multipart", "prometheus_client")
    from deshadow.serve.settings import MIB, Settings

    settings = Settings(
        host=host,
        port=port,
        token=token,
        max_pixels=round(max_megapixels * 1e6),
        max_upload=round(max_upload * MIB),
        queue=queue,
        expire=expire * 60,
    )
    from deshadow.removal.remover import Remover
    from deshadow.serve.server import serve as serve_forever

    remover = Remover(weights, detector, device)
    _ = remover.backend, remover.detector  # opened now, so that what is missing is said now
    serve_forever(remover, settings, browser=not no_browser)
