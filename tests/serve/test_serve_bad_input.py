import io
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from serving import Served, decoded, encoded, parts, scene, serving

from deshadow.serve.settings import Settings

# The multipart parser leaves the file of a part that never ends to the garbage collector, which says so.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning"
)

CODES = {
    400: {"malformed"},
    404: {"not_found"},
    405: {"method"},
    409: {"not_ready"},
    413: {"too_large", "too_many_pixels"},
    415: {"content_type"},
    422: {"invalid", "picture", "mask"},
}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(settings=Settings(max_upload=1 << 20, max_pixels=1_000_000, max_store=1 << 40)) as server:
        yield server


def png(width: int, height: int, data: bytes = b"") -> bytes:
    """The beginning of a PNG that says it is this large."""
    out = b"\x89PNG\r\n\x1a\n"
    for name, content in (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(data)),
        (b"IEND", b""),
    ):
        out += (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )
    return out


def saved(picture: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


PHOTO = encoded(scene())
OTHER_SIZE = encoded(np.full((10, 10), 255, np.uint8))
EMPTY = encoded(np.zeros((60, 80), np.uint8))
BAD_PHOTOS = {
    "zero bytes": b"",
    "text": b"hello, this is no picture",
    "cut off": PHOTO[: len(PHOTO) // 2],
    "cut off JPEG": encoded(scene(), "JPEG")[:300],
    "bomb by header": png(60_000, 60_000),
    "too many pixels": png(1001, 1000),
    "less data than it says": png(500, 500, b"\0" * 100),
    "PPM": encoded(scene(), "PPM"),
    "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(/etc/passwd) (r) file\n",
    "float TIFF": saved(Image.fromarray(np.ones((9, 9), np.float32)), "TIFF"),
    "raw without anything": b"FUJIFILMCCD-RAW 0201",
    "HEIC without anything": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic",
    "beyond the bytes": b"\xff\xd8" + b"\0" * (1 << 20),
}
BAD_FIELDS: dict[str, dict[str, Any]] = {
    "unknown mode": {"mode": "sunny"},
    "unknown sampler": {"sampler": "euler"},
    "dilate is no number": {"dilate": "much"},
    "dilate below": {"dilate": -1},
    "dilate beyond": {"dilate": 10**9},
    "strength beyond": {"strength": 1.5},
    "strength nan": {"strength": "nan"},
    "feather infinite": {"feather": "inf"},
    "no steps": {"steps": 0},
    "seed beyond": {"seed": 2**80},
    "unknown field": {"weights": "/etc/passwd"},
    "field with a long name": {"x" * 5000: "1"},
    "mode twice": {"mode": ["quick", "removal"]},
    "mode as file": {"mode": b"quick"},
    "point outside": {"points": "80,10"},
    "point negative": {"points": "-1,10"},
    "point of letters": {"points": "a,b"},
    "instance zero": {"instances": 0},
    "mask of other size": {"mask": OTHER_SIZE},
    "mask empty": {"mask": EMPTY},
    "mask no picture": {"mask": b"mask"},
    "mask of zero bytes": {"mask": b""},
    "mask cut off": {"mask": PHOTO[:400]},
    "mask bomb": {"mask": png(60_000, 60_000)},
    "mask as text": {"mask": "mask.png"},
    "mask twice": {"mask": [PHOTO, PHOTO]},
    "mask and instance": {"mask": PHOTO, "instances": 1},
    "base unknown": {"base": "../../etc/passwd"},
}


def check(answer: httpx.Response) -> None:
    """A 4xx in JSON, of the one shape, that shows nothing of the inside."""
    assert answer.status_code in CODES, (answer.status_code, answer.text)
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()
    assert set(error) == {"error"}
    assert set(error["error"]) == {"code", "message"}
    assert error["error"]["code"] in CODES[answer.status_code]
    message = error["error"]["message"]
    assert 10 < len(message) < 400
    assert not any(
        word in message for word in ("Traceback", "/tmp", "deshadow-", "object at", ".py", "pydantic")
    )


@pytest.mark.parametrize("name", BAD_PHOTOS)
def test_a_photo_that_cannot_be_used_is_refused(served: Served, name: str) -> None:
    before = served.files()
    for address in ("/api/photos", "/api/remove"):
        check(served.http.post(address, files=[("file", ("photo.jpg", BAD_PHOTOS[name]))]))
    assert served.files() == before


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_a_field_that_cannot_be_used_is_refused(served: Served, name: str) -> None:
    photo = served.upload(PHOTO)["id"]
    before = served.files()
    check(served.http.post(f"/api/photos/{photo}/jobs", files=parts(**BAD_FIELDS[name])))
    check(served.http.post("/api/remove", files=parts(file=PHOTO, **BAD_FIELDS[name])))
    assert served.files() == before


def test_a_shadow_that_is_not_there_fails_the_job_and_refuses_the_call(served: Served) -> None:
    photo = served.upload(PHOTO)["id"]
    for choice in ({"instances": 9}, {"points": "0,0"}):
        job = served.wait(served.start(photo, **choice)["id"])
        assert (job["state"], job["error"]["code"]) == ("failed", "invalid")
        check(served.http.post("/api/remove", files=parts(file=PHOTO, **choice)))


@pytest.mark.parametrize(
    "picture",
    [
        Image.fromarray(scene()).convert("CMYK"),
        Image.fromarray(scene()).convert("P"),
        Image.fromarray(scene()).convert("L"),
        Image.fromarray(scene()[..., 0].astype(np.uint16) * 257),
        Image.new("RGB", (1, 1)),
        Image.new("RGB", (40_000, 10)),
    ],
    ids=["CMYK", "palette", "grey", "16-bit grey", "1×1", "40,000×10"],
)
def test_odd_photos_come_back_with_their_size_and_depth(served: Served, picture: Image.Image) -> None:
    kind = "JPEG" if picture.mode == "CMYK" else "PNG"
    answer = served.http.post("/api/remove", files=parts(file=saved(picture, kind)))
    assert answer.status_code == 200, answer.text
    result = decoded(answer.content)
    assert result.shape[:2] == picture.size[::-1]
    assert (result.dtype == np.uint16) == picture.mode.startswith("I;16")


def test_of_an_animation_the_first_picture_is_taken(served: Served) -> None:
    frames = [Image.fromarray(scene(tint=tint)) for tint in range(2)]
    photo = saved(frames[0], "PNG", save_all=True, append_images=frames[1:])
    result = decoded(served.http.post("/api/remove", files=parts(file=photo)).content)
    assert (result[0] == np.asarray(frames[0])[0]).all()


def _with(
    content: bytes, kind: str | None, address: str = "/api/photos"
) -> Callable[[Served], httpx.Response]:
    headers = {} if kind is None else {"content-type": kind}
    return lambda served: served.http.post(address, content=content, headers=headers)


FORM = "multipart/form-data; boundary=x"
BAD_BODIES: dict[str, Callable[[Served], httpx.Response]] = {
    "no body": lambda served: served.http.post("/api/photos"),
    "JSON": lambda served: served.http.post("/api/photos", json={"file": "/etc/passwd"}),
    "address in a form": lambda served: served.http.post(
        "/api/photos", data={"file": "http://example.org/a.jpg"}
    ),
    "address as field": lambda served: served.http.post(
        "/api/photos", files=parts(file="file:///etc/passwd")
    ),
    "picture as body": _with(PHOTO, "image/png"),
    "no type": _with(PHOTO, None),
    "no boundary": _with(PHOTO, "multipart/form-data"),
    "other boundary": _with(b"--y\r\n\r\nx\r\n--y--\r\n", FORM),
    "no end": _with(b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc', FORM),
    "no name": _with(b"--x\r\nContent-Disposition: form-data\r\n\r\nabc\r\n--x--\r\n", FORM),
    "no headers": _with(b"--x\r\n\r\nabc\r\n--x--\r\n", FORM),
    "wrong header": _with(b"--x\r\n\0\1\2: 3\r\n\r\nabc\r\n--x--\r\n", FORM),
    "wrong charset": _with(
        b'--x\r\nContent-Disposition: form-data; name="mode"\r\n\r\n\xff\xfe\r\n--x--\r\n',
        FORM + "; charset=nonsense",
    ),
    "random": _with(bytes(range(256)) * 9, FORM),
    "a thousand fields": lambda served: served.http.post(
        "/api/photos", files=parts(**{f"f{number}": "1" for number in range(2000)})
    ),
    "a long field": lambda served: served.http.post(
        "/api/remove", files=parts(file=PHOTO, mode="q" * 1_020_000)
    ),
    "chunked beyond the bytes": lambda served: served.http.post(
        "/api/photos", content=iter([b"\0" * 65536] * 40), headers={"content-type": FORM}
    ),
    "unknown photo": lambda served: served.http.get("/api/photos/..%2f..%2fetc%2fpasswd/picture"),
    "unknown job": lambda served: served.http.get("/api/jobs/%00/result"),
    "unknown address": lambda served: served.http.get("/etc/passwd"),
    "page file above": lambda served: served.http.get("/page/..%2f..%2fcli.py"),
    "other method": lambda served: served.http.put("/api/photos"),
    "jobs of nothing": lambda served: served.http.post("/api/photos/x/jobs", files=parts(mode="quick")),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_request_that_makes_no_sense_is_refused(served: Served, name: str) -> None:
    check(BAD_BODIES[name](served))


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/passwd",
        "..\\..\\boot.ini",
        "/etc/cron.d/x",
        "a\r\nX-Evil: 1",
        "\0",
        "nul.png",
        "…" * 300,
    ],
)
def test_a_name_that_wants_out_stays_a_name(served: Served, name: str) -> None:
    photo = served.upload(PHOTO, name)
    assert len(photo["name"]) <= 100
    assert not set(photo["name"]) & set('/\\\0\r\n"')
    answer = served.http.get(served.wait(served.start(photo["id"])["id"])["result"])
    assert answer.status_code == 200
    assert "x-evil" not in answer.headers


def test_traversal_in_a_raw_request_finds_nothing(served: Served) -> None:
    for path in (b"/page/../app.py", b"/page/%2e%2e/app.py", b"//etc/passwd", b"/page//etc/passwd"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=5) as connection:
            connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 404 ")


def test_the_server_lives_on_after_five_hundred_of_them(served: Served) -> None:
    asked = 0
    while asked < 500:
        for photo in BAD_PHOTOS.values():
            check(served.http.post("/api/remove", files=[("file", ("photo.jpg", photo))]))
        for fields in BAD_FIELDS.values():
            check(served.http.post("/api/remove", files=parts(file=PHOTO, **fields)))
        for body in BAD_BODIES.values():
            check(body(served))
        asked += len(BAD_PHOTOS) + len(BAD_FIELDS) + len(BAD_BODIES)
    picture = scene()
    result = decoded(served.http.post("/api/remove", files=parts(file=encoded(picture))).content)
    assert (result[20:40, 10:20] == picture[20:40, 10:20] * 2).all()
    assert served.app.service.store.bytes < 1 << 20
