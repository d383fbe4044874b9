import asyncio
import io
import json
import stat
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi import UploadFile
from PIL import Image
from serving import Served, decoded, doubtful, encoded, parts, scene, serving, shaded
from standin import StandIn

from deshadow.photo.formats import list_readable_endings
from deshadow.serve.errors import ApiError
from deshadow.serve.schema import JobForm
from deshadow.serve.settings import Settings


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as server:
        yield server


@pytest.fixture
def slow() -> Iterator[Served]:
    with serving(StandIn(pause=0.15, windows=50), Settings(queue=2)) as server:
        yield server


def test_an_upload_says_what_it_is_and_can_be_shown(served: Served) -> None:
    picture = scene()
    photo = served.upload(encoded(picture), "../../etc/holiday.png")
    assert (photo["width"], photo["height"], photo["format"]) == (80, 60, "PNG")
    assert photo["name"] == "holiday.png"
    shown = served.http.get(photo["picture"])
    assert shown.headers["content-type"] == "image/jpeg"
    assert np.abs(decoded(shown.content).astype(int) - picture).mean() < 4
    assert served.http.get(f"/api/photos/{photo['id']}").json() == photo


def test_a_gif_comes_back_as_png(served: Served) -> None:
    gif = encoded(scene()[..., 0], "GIF")
    answer = served.http.post("/api/remove", files={"file": ("photo.gif", gif)})
    assert answer.headers["content-type"] == "image/png"
    assert 'filename="photo.deshadowed.png"' in answer.headers["content-disposition"]
    assert decoded(answer.content).shape[:2] == (60, 80)


def test_a_file_dialog_offers_the_photos_that_the_server_reads(served: Served) -> None:
    offered = served.http.get("/api/settings").json()["accept"].split(",")
    assert offered == ["image/*", *list_readable_endings()]
    assert {".jpg", ".gif", ".dng"} <= {*offered}  # raw photos too: browsers do not count them as pictures


def test_a_photo_is_shown_upright_and_a_see_through_one_stays_so(served: Served) -> None:
    exif = Image.Exif()
    exif[274] = 6  # turn to the right
    turned = served.upload(encoded(scene(), "JPEG", exif=exif))
    assert (turned["width"], turned["height"]) == (60, 80)
    assert decoded(served.http.get(turned["picture"]).content).shape == (80, 60, 3)
    alpha = np.dstack([scene(), np.full((60, 80), 100, np.uint8)])
    assert (decoded(served.http.get(served.upload(encoded(alpha))["picture"]).content)[..., 3] == 100).all()


def test_shadows_are_numbered_from_the_largest_and_found_once(served: Served) -> None:
    picture = scene()
    photo = served.upload(encoded(picture))
    before = served.networks.detections
    found = served.http.get(photo["shadows"]).json()["instances"]
    labels = decoded(served.http.get(photo["labels"]).content)
    assert served.networks.detections == before + 1
    assert [(each["number"], each["box"]) for each in found] == [(1, [40, 10, 70, 50]), (2, [10, 20, 20, 40])]
    for each in found:
        x, y = each["centre"]
        assert labels[y, x] == each["number"]
        assert (labels == each["number"]).sum() == each["area"]
    assert ((labels > 0) == shaded(picture)).all()


def test_what_may_not_be_a_shadow_stays_unless_it_is_selected_or_sensitivity_is_high(served: Served) -> None:
    picture = doubtful()
    photo = served.upload(encoded(picture))

    def remove(**fields: Any) -> tuple[bool, bool, int]:
        job = served.wait(served.start(photo["id"], **fields)["id"])
        answer = served.http.post("/api/remove", files=parts(file=encoded(picture), **fields))
        assert answer.headers["deshadow-left-out"] == str(job["left_out"])
        result = served.result(job["id"])
        assert (decoded(answer.content) == result).all()
        large, small = (bool((result != picture)[30, x].any()) for x in (50, 15))
        return large, small, job["left_out"]

    found = served.http.get(photo["shadows"]).json()["instances"]
    assert [each["sure"] for each in found] == [True, False]
    assert remove() == (True, False, 1)
    assert remove(sensitivity="high") == (True, True, 0)
    assert remove(instances=2) == (False, True, 0)
    assert remove(points="15,30") == (False, True, 0)
    assert remove(mask=encoded(shaded(picture).astype(np.uint8) * 255)) == (True, True, 0)


def test_each_sensitivity_has_its_shadows_and_their_picture(served: Served) -> None:
    picture = doubtful()
    picture[:, 25:35] = 90  # dark, but not as dark as a shadow
    photo = served.upload(encoded(picture))
    for sensitivity, count in (("normal", 2), ("high", 3), ("normal", 2)):
        found = served.http.get(photo["shadows"], params={"sensitivity": sensitivity}).json()
        labels = decoded(served.http.get(found["labels"]).content)
        assert len(found["instances"]) == labels.max() == count
    job = served.wait(served.start(photo["id"], instances=2, sensitivity="high")["id"])
    changed = (served.result(job["id"]) != picture).any(-1)
    assert changed[:, 25:35].all()
    assert not changed[:, :25].any()
    assert served.http.get(photo["shadows"], params={"sensitivity": "wild"}).status_code == 422


def test_a_job_changes_the_shadow_and_not_one_bit_elsewhere(served: Served) -> None:
    picture = scene()
    photo = served.upload(encoded(picture))
    job = served.wait(served.start(photo["id"], mode="removal")["id"])
    assert (job["state"], job["found"], job["share"]) == ("done", True, 1)
    result = served.result(job["id"])
    dark = shaded(picture)
    assert (result[~dark] == picture[~dark]).all()
    assert (result[dark] == picture[dark] * 2).all()
    assert (decoded(served.http.get(job["mask"]).content) == np.where(dark, 255, 0)).all()
    assert np.abs(decoded(served.http.get(job["picture"]).content).astype(int) - result).mean() < 4
    name = served.http.get(job["result"]).headers["content-disposition"]
    assert name.startswith('attachment; filename="photo.deshadowed.png"')


def test_a_download_has_the_format_and_the_metadata_of_the_photo(served: Served) -> None:
    exif = Image.Exif()
    exif[271] = "Somebody's camera"
    photo = served.upload(encoded(scene(), "JPEG", exif=exif, quality=97), "löwe.JPEG")
    job = served.wait(served.start(photo["id"])["id"])
    answer = served.http.get(job["result"])
    assert answer.headers["content-type"] == "image/jpeg"
    assert "filename*=UTF-8''l%C3%B6we.deshadowed.JPEG" in answer.headers["content-disposition"]
    with Image.open(io.BytesIO(answer.content)) as result:
        assert (result.format, result.size, result.getexif()[271]) == ("JPEG", (80, 60), "Somebody's camera")


@pytest.mark.parametrize("choice", [{"instances": 2}, {"points": "12,25"}, {"points": ["12,25", "19,39"]}])
def test_one_shadow_can_be_chosen(served: Served, choice: dict[str, str]) -> None:
    picture = scene()
    photo = served.upload(encoded(picture))
    result = served.result(served.wait(served.start(photo["id"], **choice)["id"])["id"])
    assert (result[20:40, 10:20] == picture[20:40, 10:20] * 2).all()
    assert (result[:, 20:] == picture[:, 20:]).all()


def test_a_mask_says_where(served: Served) -> None:
    picture = scene()
    mask = np.zeros((60, 80), np.uint8)
    mask[:5, :5] = 255
    photo = served.upload(encoded(picture))
    result = served.result(served.wait(served.start(photo["id"], mask=encoded(mask))["id"])["id"])
    assert (result[:5, :5] == np.minimum(picture[:5, :5].astype(int) * 2, 255)).all()
    assert (result[5:] == picture[5:]).all()


def test_a_mask_of_the_photos_shape_is_scaled_and_another_refused(served: Served) -> None:
    photo = served.upload(encoded(scene()))
    mask = np.zeros((30, 40), np.uint8)
    mask[:, :20] = 255
    picture, result = (
        scene(),
        served.result(served.wait(served.start(photo["id"], mask=encoded(mask))["id"])["id"]),
    )
    changed = (result != picture).any(axis=2)
    assert changed[:, :38].mean() > 0.9
    assert not changed[:, 42:].any()
    square = encoded(np.full((60, 60), 255, np.uint8))
    answer = served.http.post(f"/api/photos/{photo['id']}/jobs", files=parts(mask=square))
    assert answer.status_code == 422
    sizes = "The mask has 60 × 60 pixels and the photo 80 × 60"
    assert answer.json()["error"]["message"].startswith(sizes)


def test_a_job_starts_from_the_result_of_another(served: Served) -> None:
    picture = scene()
    photo = served.upload(encoded(picture))
    first = served.wait(served.start(photo["id"], instances=1)["id"])["id"]
    second = served.wait(served.start(photo["id"], instances=2, base=first)["id"])
    third = served.wait(served.start(photo["id"], instances=2, base=second["id"], strength=0)["id"])["id"]
    dark = shaded(picture)
    for name in (second["id"], third):
        result = served.result(name)
        assert (result[dark] == picture[dark] * 2).all()
        assert (result[~dark] == picture[~dark]).all()
    assert second["base"] == first


def test_a_photo_without_shadow_comes_back_as_it_was(served: Served) -> None:
    picture = np.full((20, 30, 3), 200, np.uint8)
    photo = served.upload(encoded(picture))
    assert served.http.get(photo["shadows"]).json()["instances"] == []
    job = served.wait(served.start(photo["id"])["id"])
    assert (job["state"], job["found"]) == ("done", False)
    assert (served.result(job["id"]) == picture).all()
    buffer = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(picture).save(buffer, "JPEG", quality=60, exif=exif)
    for data in (encoded(picture), buffer.getvalue()):
        answer = served.http.post("/api/remove", files=parts(file=data))
        assert answer.headers["deshadow-shadow"] == "none"
        assert answer.content == data


def test_one_call_takes_a_photo_and_gives_a_photo_and_keeps_nothing(served: Served) -> None:
    picture = scene()
    before = served.files()
    answer = served.http.post("/api/remove", files=parts(file=encoded(picture), points="12,25"))
    assert answer.headers["deshadow-shadow"] == "found"
    result = decoded(answer.content)
    assert (result[20:40, 10:20] == picture[20:40, 10:20] * 2).all()
    assert (result[:, 20:] == picture[:, 20:]).all()
    assert served.files() == before


def test_events_tell_the_progress_with_previews_and_then_the_end(slow: Served) -> None:
    slow.networks.windows = 12
    photo = slow.upload(encoded(scene()))
    job = slow.start(photo["id"], mode="removal")["id"]
    events = []
    with slow.http.stream("GET", f"/api/jobs/{job}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            if line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
                events.append((name, data))
                if data["preview"] and len(events) < 12:
                    assert decoded(slow.http.get(data["preview"]).content).shape == (60, 80, 3)
    names, told = zip(*events, strict=True)
    assert names == ("progress",) * (len(names) - 1) + ("end",)
    shares = [each["share"] for each in told]
    assert shares == sorted(shares)
    assert len(set(shares)) > 8
    assert any(each["preview"] for each in told[:-1])
    assert told[-1]["state"] == "done"
    assert told[-1] == slow.job(job)


def test_beyond_its_bound_the_queue_says_when_to_come_back(slow: Served) -> None:
    photo = slow.upload(encoded(scene()))["id"]
    jobs = [slow.start(photo, mode="removal")["id"]]
    slow.wait(jobs[0], "running")
    jobs += [slow.start(photo, mode="removal")["id"] for _ in range(2)]
    assert [slow.job(name)["position"] for name in jobs] == [0, 1, 2]
    for answer in (
        slow.http.post(f"/api/photos/{photo}/jobs"),
        slow.http.get(f"/api/photos/{photo}/shadows"),
        slow.http.post("/api/remove", files=parts(file=encoded(scene()))),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "queue_full")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    slow.http.post(f"/api/jobs/{jobs[1]}/cancel")
    assert slow.job(jobs[1])["state"] == "cancelled"
    assert slow.job(slow.start(photo, mode="removal")["id"])["position"] == 2


def test_finding_shadows_does_not_wait_for_removals(slow: Served) -> None:
    photo = slow.upload(encoded(scene()))["id"]
    running, waiting = (slow.start(photo, mode="removal")["id"] for _ in range(2))
    slow.wait(running, "running")
    found = slow.http.get(f"/api/photos/{photo}/shadows").json()["instances"]
    assert len(found) == 2
    assert slow.job(running)["state"] == "running"
    assert slow.job(waiting)["state"] == "queued"


def test_a_running_job_ends_when_cancelled_and_leaves_no_files(slow: Served) -> None:
    photo = slow.upload(encoded(scene()))["id"]
    before = slow.files()
    job = slow.start(photo, mode="removal", mask=encoded(np.full((60, 80), 255, np.uint8)))["id"]
    slow.wait(job, "running")
    slow.http.post(f"/api/jobs/{job}/cancel")
    assert slow.wait(job)["state"] == "cancelled"
    assert slow.files() == before
    assert slow.http.get(f"/api/jobs/{job}/result").json()["error"]["code"] == "not_ready"


def test_what_is_deleted_is_gone(slow: Served) -> None:
    photo = slow.upload(encoded(scene()))["id"]
    kept = slow.upload(encoded(scene()))["id"]
    job = slow.wait(slow.start(photo)["id"])["id"]
    assert slow.http.delete(f"/api/jobs/{job}").status_code == 204
    assert slow.http.get(f"/api/jobs/{job}").status_code == 404
    running = slow.start(photo, mode="removal")["id"]
    slow.wait(running, "running")
    assert slow.http.delete(f"/api/photos/{photo}").status_code == 204
    for address in (f"/api/photos/{photo}", f"/api/photos/{photo}/picture", f"/api/jobs/{running}"):
        assert slow.http.get(address).json()["error"]["code"] == "not_found"
    assert slow.wait(slow.start(kept)["id"])["state"] == "done"
    assert len([path for path in slow.app.service.store.folder.iterdir() if any(path.iterdir())]) == 1


def test_a_photo_may_be_deleted_while_a_mask_for_it_is_read(served: Served) -> None:
    entry = served.app.service.store.get_photo(served.upload(encoded(scene()))["id"])
    served.app.service.delete_photo(entry)
    form = JobForm(mask=UploadFile(io.BytesIO(encoded(np.full((60, 80), 255, np.uint8)))))
    with pytest.raises(ApiError, match="no such photo"):
        asyncio.run(served.app.service.start_job(entry, form, keep=True))
    assert not entry.folder.exists()


def test_who_hangs_up_is_not_worked_for(slow: Served) -> None:
    with pytest.raises(httpx.ReadTimeout):
        slow.http.post("/api/remove", files=parts(file=encoded(scene()), mode="removal"), timeout=0.5)
    photo = slow.upload(encoded(scene()))["id"]
    assert slow.wait(slow.start(photo)["id"])["state"] == "done"  # long before 50 windows are over


def test_who_asks_again_for_shadows_does_not_get_the_search_that_was_given_up(slow: Served) -> None:
    slow.networks.pause = 1.0
    photo = slow.upload(encoded(scene()))
    with pytest.raises(httpx.ReadTimeout):
        slow.http.get(photo["shadows"], timeout=0.1)
    task = slow.app.service.store.get_photo(photo["id"]).detections["normal"]
    assert task is not None
    task.cancelled.wait()
    assert len(slow.http.get(photo["shadows"]).json()["instances"]) == 2


def test_photos_expire_after_their_last_use() -> None:
    with serving(settings=Settings(expire=0.4)) as served:
        photo = served.upload(encoded(scene()))["id"]
        served.wait(served.start(photo)["id"])
        assert served.files()
        for _ in range(200):
            if not served.files():
                break
            threading.Event().wait(0.02)
        assert served.http.get(f"/api/photos/{photo}").status_code == 404


def test_files_lie_in_a_folder_that_nobody_else_can_open(served: Served) -> None:
    served.upload(encoded(scene()), "secret name.png")
    folder = served.app.service.store.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not [path for path in folder.rglob("*") if "secret" in path.name]


def test_a_full_store_takes_no_more() -> None:
    with serving(settings=Settings(max_store=1000)) as served:
        answer = served.http.post("/api/photos", files=parts(file=encoded(scene())))
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "busy")


def test_the_server_describes_itself(served: Served) -> None:
    settings = served.http.get("/api/settings").json()
    assert settings["max_pixels"] == served.app.service.settings.max_pixels
    assert served.http.get("/healthz").json() == {"status": "ok"}
    metrics = served.http.get("/metrics").text
    assert 'deshadow_requests_total{status="200"}' in metrics
    assert all(line.startswith(("#", "deshadow_")) for line in metrics.splitlines())
    paths = served.http.get("/api/openapi.json").json()["paths"]
    docs = served.http.get("/api/docs").text
    assert all(path in docs for path in paths)
    assert "http" not in docs.replace("HTTP", "")


def test_the_page_is_served_with_a_tag(served: Served) -> None:
    page = served.http.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert served.http.get("/", headers={"if-none-match": page.headers["etag"]}).status_code == 304
    assert served.http.get("/page/../app.py").status_code == 404


def test_a_removal_that_is_finished_early_keeps_the_windows_that_are_done() -> None:
    with serving(StandIn(pause=0.1, windows=40)) as slow:
        picture = scene(160, 60)
        photo = slow.upload(encoded(picture))["id"]
        job = slow.start(photo, mode="removal", mask=encoded(np.full((60, 160), 255, np.uint8)))["id"]
        while slow.job(job)["done"] < 2:
            assert slow.job(job)["state"] in ("queued", "running")
        slow.http.post(f"/api/jobs/{job}/finish")
        ended = slow.wait(job)
        assert (ended["state"], ended["total"]) == ("done", 40)
        done = ended["done"] * 160 // 40
        result = slow.result(job)
        assert 2 <= ended["done"] < 20
        assert (result[:, done:] == picture[:, done:]).all()
        assert (result[:, :done] == np.minimum(2 * picture[:, :done].astype(int), 255)).all()


def test_quick_does_not_wait_for_the_windows_of_another_removal() -> None:
    with serving(StandIn(pause=0.1, windows=100)) as slow:
        photo = slow.upload(encoded(scene()))["id"]
        long, other = (slow.start(photo, mode="removal")["id"] for _ in range(2))
        slow.wait(long, "running")
        quick = slow.start(photo)["id"]
        assert slow.wait(quick)["state"] == "done"
        assert slow.job(long)["state"] == "running"
        assert slow.job(other)["state"] == "queued"
        assert slow.result(quick).shape == (60, 80, 3)


def test_the_time_left_is_estimated_from_the_windows_that_are_done() -> None:
    with serving(StandIn(pause=0.1, windows=30)) as slow:
        photo = slow.upload(encoded(scene()))["id"]
        job = slow.start(photo, mode="removal")["id"]
        estimates = []
        while (now := slow.job(job))["state"] in ("queued", "running"):
            if now["left"] is not None:
                estimates.append(now["seconds"] + now["left"])
        assert len(estimates) > 20
        assert all(0.5 * now["seconds"] < each < 2 * now["seconds"] for each in estimates)


@pytest.mark.parametrize(("name", "quality"), [("JPEG", 90), ("WEBP", 80), ("TIFF", None), ("PNG", None)])
def test_a_result_comes_in_another_format(served: Served, name: str, quality: int | None) -> None:
    picture = scene()
    photo = served.upload(encoded(picture), "yard.bmp")["id"]
    job = served.start(photo)["id"]
    served.wait(job)
    exact = served.result(job)
    query = {"format": name} | ({"quality": quality} if quality else {})
    answer = served.http.get(f"/api/jobs/{job}/result", params=query)
    assert answer.headers["content-type"] == f"image/{name.lower()}"
    with Image.open(io.BytesIO(answer.content)) as found:
        assert found.format == name
        assert np.abs(np.asarray(found).astype(int) - exact).mean() < (20 if quality else 1e-9)
    assert any(each["name"] == name for each in served.http.get("/api/settings").json()["formats"])


def test_a_format_that_is_not_known_is_refused_in_a_sentence(served: Served) -> None:
    job = served.start(served.upload(encoded(scene()))["id"])["id"]
    served.wait(job)
    answer = served.http.get(f"/api/jobs/{job}/result", params={"format": "XYZ"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("Unknown format 'XYZ': choose JPEG, PNG")
