"""The addresses of the API for photos, their shadows, and removals."""

import asyncio
import dataclasses
import os
from collections.abc import AsyncIterator
from pathlib import Path, PurePath
from typing import Annotated, BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from deshadow.photo.formats import FORMATS, WRITTEN_AS
from deshadow.removal.options import RemovalOptions, Sensitivity
from deshadow.removal.reach import measure_scale
from deshadow.serve.errors import ApiError, not_found, unfinished
from deshadow.serve.schema import (
    EVENTS,
    IMAGE,
    PHOTO,
    ErrorDetail,
    JobOut,
    JobParts,
    PhotoOut,
    PhotoParts,
    RemoveParts,
    ShadowOut,
    ShadowsOut,
    error_responses,
    reject_repeated_fields,
)
from deshadow.serve.service import Service
from deshadow.serve.store import RemovalJob, StoredPhoto

_EVENT_PAUSE = 0.2
"""Seconds between two events at least."""
_EVENT_SILENCE = 15.0
"""Seconds without an event after which a comment is sent, so that proxies keep the connection open."""
_CHUNK = 1 << 18
NORMAL = RemovalOptions().sensitivity
SensitivityQuery = Annotated[
    Sensitivity, Query(description="As that of a removal, whose numbers of shadows are the same.")
]


def make_photo_routes(service: Service) -> APIRouter:
    """The addresses below `/api/photos`, without those of removals."""
    routes = APIRouter(prefix="/api/photos", tags=["photos"])

    @routes.post(
        "",
        status_code=201,
        responses=error_responses(400, 408, 413, 415, 422, 429, 503),
        dependencies=[Depends(reject_repeated_fields)],
    )
    async def upload_photo(form: PhotoParts, response: Response) -> PhotoOut:
        """Upload a photo. The server deletes it some time after its last use."""
        photo = await service.add_photo(form.file, show=True)
        response.headers["Location"] = f"/api/photos/{photo.id}"
        return _describe_photo(photo, service.settings.expire)

    @routes.get("/{photo}", responses=error_responses(404))
    async def get_photo(photo: str) -> PhotoOut:
        """Name, format and size of a photo, and the addresses of its pictures."""
        return _describe_photo(service.store.get_photo(photo), service.settings.expire)

    @routes.get("/{photo}/picture", response_class=Response, responses={**IMAGE, **error_responses(404)})
    async def get_photo_picture(photo: str) -> Response:
        """The photo for display in a browser: full size, sRGB, upright."""
        stored = service.store.get_photo(photo)
        return await _send_file(stored.file("picture"), stored.display)

    @routes.get("/{photo}/shadows", responses=error_responses(404, 409, 422, 429, 503))
    async def get_shadows(photo: str, request: Request, sensitivity: SensitivityQuery = NORMAL) -> ShadowsOut:
        """Find the shadows of a photo. The first request for a photo waits for the detector."""
        stored = service.store.get_photo(photo)
        await service.detect_shadows(stored, sensitivity, request)
        found = [ShadowOut(**dataclasses.asdict(shadow)) for shadow in stored.shadows[sensitivity]]
        labels = f"/api/photos/{stored.id}/labels.png?sensitivity={sensitivity}"
        return ShadowsOut(instances=found, labels=labels)

    @routes.get(
        "/{photo}/labels.png",
        response_class=Response,
        responses={**IMAGE, **error_responses(404, 409, 422, 429, 503)},
    )
    async def get_labels(photo: str, request: Request, sensitivity: SensitivityQuery = NORMAL) -> Response:
        """A grey picture of the photo's size: each pixel is the number of its shadow, or 0."""
        stored = service.store.get_photo(photo)
        await service.detect_shadows(stored, sensitivity, request)
        return await _send_file(stored.labels(sensitivity), "image/png")

    @routes.delete("/{photo}", status_code=204, responses=error_responses(404))
    async def delete_photo(photo: str) -> None:
        """Delete a photo with all of its results, and cancel its jobs."""
        service.delete_photo(service.store.get_photo(photo))

    return routes


def make_job_routes(service: Service) -> APIRouter:
    """The addresses of removals: as jobs with progress, and in one call."""
    routes = APIRouter(prefix="/api", tags=["removal"])

    @routes.post(
        "/photos/{photo}/jobs",
        status_code=202,
        responses=error_responses(400, 404, 408, 409, 413, 415, 422, 429, 503),
        dependencies=[Depends(reject_repeated_fields)],
    )
    async def start_job(photo: str, form: JobParts, response: Response) -> JobOut:
        """Start to remove shadows from an uploaded photo."""
        job = await service.start_job(service.store.get_photo(photo), form, keep=True)
        response.headers["Location"] = f"/api/jobs/{job.id}"
        return _describe_job(service, job)

    @routes.get("/jobs/{job}", responses=error_responses(404))
    async def get_job(job: str) -> JobOut:
        """The state of a job."""
        return _describe_job(service, service.store.get_job(job))

    @routes.get(
        "/jobs/{job}/events", response_class=StreamingResponse, responses={**EVENTS, **error_responses(404)}
    )
    async def get_events(job: str) -> StreamingResponse:
        """The progress of a job as server-sent events, until it has ended."""
        return StreamingResponse(
            _stream_events(service, service.store.get_job(job)), media_type="text/event-stream"
        )

    @routes.get(
        "/jobs/{job}/preview", response_class=Response, responses={**IMAGE, **error_responses(404, 409)}
    )
    async def get_preview(job: str) -> Response:
        """The unfinished result of a running job, maybe smaller than the photo; after its end, the result."""
        found = service.store.get_job(job)
        preview = found.preview
        if preview is not None:
            return Response(preview, media_type="image/jpeg")
        return await _send_file(_get_finished(service, job).file("picture"), found.photo.display)

    @routes.get(
        "/jobs/{job}/picture", response_class=Response, responses={**IMAGE, **error_responses(404, 409)}
    )
    async def get_result_picture(job: str) -> Response:
        """The result for display in a browser."""
        found = _get_finished(service, job)
        return await _send_file(found.file("picture"), found.photo.display)

    @routes.get("/jobs/{job}/mask", response_class=Response, responses={**IMAGE, **error_responses(404, 409)})
    async def get_mask(job: str) -> Response:
        """A grey picture: 0 where the photo is unchanged, 255 where the result has replaced it."""
        return await _send_file(_get_finished(service, job).file("mask"), "image/png")

    @routes.get(
        "/jobs/{job}/result", response_class=Response, responses={**PHOTO, **error_responses(404, 409)}
    )
    async def get_result(
        job: str,
        format: Annotated[str | None, Query(description="As `formats` of the settings.")] = None,  # noqa: A002
        quality: Annotated[int | None, Query(ge=1, le=100, description="Of a lossy format.")] = None,
    ) -> Response:
        """The result for download: in the photo's format or another, full resolution, with its metadata."""
        found = _get_finished(service, job)
        own = _name_format(found.photo)
        if format is not None and format not in FORMATS:
            raise ApiError(422, "format", f"Unknown format {format[:20]!r}: choose {', '.join(FORMATS)}.")
        if quality is None and format in (None, own):
            return await _send_file(found.file("result"), *_name_download(found.photo))
        data = await service.convert_result(found, format or own, quality)
        kind, headers = _name_download(found.photo, format)
        return Response(data, media_type=kind, headers=headers)

    @routes.post("/jobs/{job}/cancel", responses=error_responses(404, 415))
    async def cancel_job(job: str) -> JobOut:
        """Cancel a job. A running job ends at its next step."""
        found = service.store.get_job(job)
        service.cancel(found.task)
        return _describe_job(service, found)

    @routes.post("/jobs/{job}/finish", responses=error_responses(404, 415))
    async def finish_job(job: str) -> JobOut:
        """End the windows of a removal early. The result has those that are done."""
        found = service.store.get_job(job)
        found.task.enough.set()
        return _describe_job(service, found)

    @routes.delete("/jobs/{job}", status_code=204, responses=error_responses(404))
    async def delete_job(job: str) -> None:
        """Delete a job and its result; cancel it if it has not ended."""
        found = service.store.get_job(job)
        service.cancel(found.task)
        service.store.delete_job(found)

    @routes.post(
        "/remove",
        response_class=Response,
        responses={**PHOTO, **error_responses(400, 408, 409, 413, 415, 422, 429, 503)},
        dependencies=[Depends(reject_repeated_fields)],
    )
    async def remove_shadows(form: RemoveParts, request: Request) -> Response:
        """Upload a photo and get it back without its shadows. The server keeps nothing."""
        service.queue.check_room()
        photo = await service.add_photo(form.file, show=False)
        try:
            job = await service.start_job(photo, form, keep=False)
            await service.wait_for_job(job, request)
            kind, headers = _name_download(photo)
            headers["Deshadow-Shadow"] = "found" if job.found else "none"
            headers["Deshadow-Left-Out"] = str(job.left_out)
            return await _send_file(job.file("result"), kind, headers)
        finally:
            service.delete_photo(photo)  # the result is open, and so can still be sent

    return routes


def _describe_photo(photo: StoredPhoto, expire: float) -> PhotoOut:
    address = f"/api/photos/{photo.id}"
    return PhotoOut(
        id=photo.id,
        name=photo.name,
        format=photo.format,
        width=photo.width,
        height=photo.height,
        scale=measure_scale(photo.height, photo.width),
        bytes=photo.size,
        expires=expire,
        picture=f"{address}/picture",
        shadows=f"{address}/shadows",
        labels=f"{address}/labels.png",
    )


def _describe_job(service: Service, job: RemovalJob) -> JobOut:
    task, address = job.task, f"/api/jobs/{job.id}"
    done, seconds = task.state == "done", task.elapsed()
    left = task.estimate_left()
    return JobOut(
        id=job.id,
        photo=job.photo.id,
        base=job.base,
        state=task.state,
        position=service.queue.position(task),
        share=round(task.share, 4),
        stage=task.stage,
        done=task.done,
        total=task.total,
        found=job.found if done else None,
        left_out=job.left_out,
        seconds=round(seconds, 2),
        left=None if left is None else round(left, 1),
        preview=f"{address}/preview?n={job.previews}" if job.preview and not done else None,
        picture=f"{address}/picture" if done else None,
        result=f"{address}/result" if done else None,
        mask=f"{address}/mask" if done else None,
        error=ErrorDetail(code=task.error.code, message=task.error.detail) if task.error else None,
    )


def _get_finished(service: Service, name: str) -> RemovalJob:
    job = service.store.get_job(name)
    if job.task.state != "done":
        raise unfinished()
    return job


async def _stream_events(service: Service, job: RemovalJob) -> AsyncIterator[str]:
    ended = asyncio.wrap_future(job.task.ended)
    loop = asyncio.get_running_loop()
    sent: tuple[int, int, int] | None = None
    sent_at = loop.time()
    while not job.task.ended.done():
        state = (job.task.version, job.previews, service.queue.position(job.task))
        if state != sent:
            sent, sent_at = state, loop.time()
            yield f"event: progress\ndata: {_describe_job(service, job).model_dump_json()}\n\n"
        elif loop.time() - sent_at > _EVENT_SILENCE:
            sent_at = loop.time()
            yield ": still running\n\n"
        await asyncio.wait([ended], timeout=_EVENT_PAUSE)
    yield f"event: end\ndata: {_describe_job(service, job).model_dump_json()}\n\n"


async def _send_file(path: Path, kind: str, headers: dict[str, str] | None = None) -> Response:
    """A response with the content of a stored file, which may be deleted while it is sent."""
    try:
        file = await asyncio.to_thread(path.open, "rb")
    except OSError:
        raise not_found("file") from None
    length = os.fstat(file.fileno()).st_size
    return StreamingResponse(
        _read_chunks(file), headers={"Content-Length": str(length), "Content-Type": kind, **(headers or {})}
    )


async def _read_chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk


def _name_format(photo: StoredPhoto) -> str:
    """The format of a photo's result; that of a raw photo is TIFF."""
    return WRITTEN_AS.get(photo.format, photo.format)


def _name_download(photo: StoredPhoto, format: str | None = None) -> tuple[str, dict[str, str]]:  # noqa: A002
    """Media type of a result, and the header with its file name."""
    written = FORMATS[format or _name_format(photo)]
    name = PurePath(photo.name)
    ending = name.suffix if name.suffix.lower() in written.endings else written.endings[0]
    return f"image/{written.name.lower()}", _attach(f"{name.stem}.deshadowed{ending}")


def _attach(name: str) -> dict[str, str]:
    """The header that makes the browser save a file under this name (RFC 6266): in ASCII, and in full."""
    plain = "".join(each if each.isascii() and each not in '"\\%' else "_" for each in name)
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    }
