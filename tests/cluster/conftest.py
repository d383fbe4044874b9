"""One Ray cluster of two nodes and one S3 server for all tests of a process; both are real."""

from collections.abc import Iterator

import pytest
from clusters import CuttingProxy, TwoNodes, end_started, free_port
from moto.server import ThreadedMotoServer


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    end_started()


@pytest.fixture(scope="session")
def s3() -> Iterator[CuttingProxy]:
    """An S3 server behind a proxy that can cut connections; Ray's processes find it by the environment."""
    port = free_port()
    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    proxy = CuttingProxy(port)
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield proxy
    proxy.close()
    server.stop()


@pytest.fixture(scope="session")
def two_nodes(s3: CuttingProxy) -> Iterator[TwoNodes]:
    cluster = TwoNodes()
    yield cluster
    cluster.close()
