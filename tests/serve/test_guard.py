import socket
import time
from collections.abc import Iterator

import httpx
import pytest
from serving import Served, encoded, parts, scene, serving

from deshadow.serve.guard import HEADERS
from deshadow.serve.settings import Settings

TOKEN = "correct horse battery staple"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(settings=Settings(patience=0.5, slowest=1e6, max_upload=1 << 20)) as server:
        yield server


@pytest.fixture(scope="module")
def locked() -> Iterator[Served]:
    with serving(settings=Settings(host="0.0.0.0", token=TOKEN)) as server:
        yield server


def raw(served: Served, *lines: str, body: bytes = b"") -> bytes:
    """What the server says to a request written by hand."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "a b", "127.0.0.1@x"]
)
def test_a_foreign_name_is_refused(served: Served, host: str) -> None:
    answer = served.http.get("/api/settings", headers={"host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "host")


def test_a_request_without_a_name_is_refused(served: Served) -> None:
    assert raw(served, "GET / HTTP/1.0").startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:8000", "[::1]:8765"])
def test_this_machine_may_be_called_by_its_names(served: Served, host: str) -> None:
    assert served.http.get("/api/settings", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://127.0.0.1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_pages_of_other_sites_are_refused(served: Served, headers: dict[str, str]) -> None:
    for answer in (
        served.http.post("/api/remove", files=parts(file=encoded(scene())), headers=headers),
        served.http.get("/api/settings", headers=headers),
        served.http.delete("/api/photos/x", headers=headers),
        served.http.options("/api/photos", headers=headers),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin")
        assert "access-control-allow-origin" not in answer.headers


def test_the_own_page_and_a_link_to_it_pass(served: Served) -> None:
    own = {"origin": f"http://127.0.0.1:{served.port}", "sec-fetch-site": "same-origin"}
    assert served.http.post("/api/remove", files=parts(file=encoded(scene())), headers=own).status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert served.http.get("/", headers=link).status_code == 200


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/settings", "/nothing", "/api/photos/x"])
def test_every_answer_carries_the_headers_of_a_careful_server(served: Served, path: str) -> None:
    answer = served.http.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_a_slow_upload_is_cut_off(served: Served) -> None:
    answer = raw(
        served,
        "POST /api/photos HTTP/1.1",
        "Host: localhost",
        "Content-Length: 100000",
        "Content-Type: multipart/form-data; boundary=x",
        body=b"--x\r\n",
    )
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"slow"' in answer


def test_a_trickle_is_cut_off_though_it_never_stops(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(
            b"POST /api/photos HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
            b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
        )
        for _ in range(100):
            try:
                connection.sendall(b"a")
                connection.settimeout(0.05)
                assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")
                return
            except TimeoutError:
                continue
    raise AssertionError("it went on for ever")


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Endless: "])
def test_a_connection_that_asks_for_nothing_is_closed(served: Served, begun: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(begun)
        assert connection.recv(65536) == b""


def test_a_connection_that_is_used_again_stays_open(served: Served) -> None:
    asking = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        for _ in range(4):
            connection.sendall(asking)
            answer = connection.recv(65536)
            while not answer.endswith(b'{"status":"ok"}'):
                answer += connection.recv(65536)
                assert answer
            time.sleep(0.4)


def test_an_upload_beyond_the_limit_is_refused_by_its_length_alone(served: Served) -> None:
    answer = raw(
        served,
        "POST /api/photos HTTP/1.1",
        "Host: localhost",
        "Content-Length: 99999999999",
        "Content-Type: multipart/form-data; boundary=x",
        "Connection: close",
    )
    assert b" 413 " in answer or b" 408 " in answer.splitlines()[0]


def test_a_token_is_asked_for_everywhere_but_for_health(locked: Served) -> None:
    for path in ("/", "/api/settings", "/metrics", "/api/docs", "/page/app.js"):
        answer = locked.http.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "missing_token")
    assert locked.http.get("/healthz").status_code == 200


def test_a_wrong_token_is_told_from_a_missing_one(locked: Served) -> None:
    with httpx.Client(base_url=locked.http.base_url) as client:
        cookie = client.get("/", params={"token": TOKEN}).headers["set-cookie"].partition("=")[0]
    wrong: list[tuple[str, dict[str, str]]] = [
        ("/?token=wrong", {}),
        ("/api/settings", {"authorization": "Bearer wrong"}),
        ("/api/settings", {"cookie": f"{cookie}=of-an-earlier-server"}),
    ]
    for path, headers in wrong:
        with httpx.Client(base_url=locked.http.base_url) as client:
            answer = client.get(path, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "wrong_token")
        assert answer.json()["error"]["message"].startswith("The token is wrong")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_token_is_taken_as_bearer_or_from_the_cookie_that_the_address_sets(locked: Served) -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert locked.http.get("/api/settings", headers=bearer).status_code == 200
    assert locked.http.get("/api/settings", headers={"authorization": f"Basic {TOKEN}"}).status_code == 401
    with httpx.Client(base_url=locked.http.base_url) as browser:
        first = browser.get("/", params={"token": TOKEN})
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert TOKEN not in cookie
        assert browser.get("/").status_code == 200
        foreign = browser.post("/api/photos", headers={"origin": "http://evil.example"})
        assert foreign.status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "photos.example"])
def test_beyond_this_machine_it_needs_a_token(host: str) -> None:
    with pytest.raises(ValueError, match="--token"):
        Settings(host=host)
    assert not Settings(host=host, token=TOKEN).loopback
    with pytest.raises(ValueError, match="16"):
        Settings(host=host, token="short")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_on_this_machine_it_needs_none(host: str) -> None:
    assert Settings(host=host).loopback
