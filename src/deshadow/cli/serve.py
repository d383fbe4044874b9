"""`deshadow serve`: serves the page and the HTTP API. It imports the server when it runs."""

from typing import Annotated

from cyclopts import Parameter

from deshadow.cli.parameters import WHOLE_NUMBER, ChosenRuntime, DetectorWeights, Device, Weights


def serve(
    *,
    host: Annotated[
        str, Parameter(help="Address to listen on. One that other machines can reach needs a token.")
    ] = ("127.0.0.1"),
    port: Annotated[int, WHOLE_NUMBER, Parameter(help="Port to listen on; 0 takes any free port.")] = 8765,
    no_browser: Annotated[bool, Parameter(negative=(), help="Do not open the browser.")] = False,
    token: Annotated[
        str | None, Parameter(env_var="DESHADOW_TOKEN", help="Secret that every request must contain.")
    ] = None,
    weights: Weights = "light",
    detector: DetectorWeights = "detector",
    device: Device = "auto",
    runtime: ChosenRuntime = "auto",
    max_megapixels: Annotated[float, Parameter(help="Largest photo, in millions of pixels.")] = 50.0,
    max_upload: Annotated[float, Parameter(help="Largest upload, in MiB.")] = 64.0,
    queue: Annotated[
        int, WHOLE_NUMBER, Parameter(help="Number of tasks that may wait; further requests get status 429.")
    ] = 16,
    expire: Annotated[float, Parameter(help="Minutes after its last use until a photo is deleted.")] = 60.0,
) -> None:
    """Serve a page in the browser for removing shadows by click or brush, and an HTTP API."""
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
    from deshadow.serve.server import run_server

    remover = Remover(weights, detector, device, runtime=runtime)
    _ = (
        remover.backend,
        remover.detector,
    )  # opened now, so that a missing file is reported before the server starts
    run_server(remover, settings, browser=not no_browser)
