"""Addresses of removals: as jobs with progress, and in one call."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import PurePath

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response, StreamingResponse

from deshadow.photo.formats import FORMATS
from deshadow.serve.description import EVENTS, IMAGE, PHOTO, fails
from deshadow.serve.files import attachment, stored_answer
from deshadow.serve.forms import ErrorDetail, JobOut
from deshadow.serve.house import House
from deshadow.serve.parts import JobParts, RemoveParts, each_once
from deshadow.serve.refusal import Refusal
from deshadow.serve.store import Entry, Job

_PAUSE = 0.2
"""Seconds between two events at least."""
_SILENCE = 15.0
"""Seconds after which a comment keeps the connection open."""
_NOT_YET = Refusal(409, "not_ready", "There is none yet; the job's state says how far it is.")


def job_routes(house: House) -> APIRouter:
    """Start, watch, cancel, fetch, delete."""
    routes = APIRouter(prefix="/api", tags=["removal"])

    @routes.post(
        "/photos/{photo}/jobs",
        status_code=202,
        responses=fails(400, 404, 408, 409, 413, 415, 422, 429, 503),
        dependencies=[Depends(each_once)],
    )
    async def start_job(photo: str, form: JobParts, response: Response) -> JobOut:
        """Remove shadows from a photo that was uploaded."""
        job = await house.start_job(house.store.photo(photo), form, keep=True)
        response.headers["Location"] = f"/api/jobs/{job.id}"
        return _out(house, job)

    @routes.get("/jobs/{job}", responses=fails(404))
    async def job(job: str) -> JobOut:
        """How far a job is."""
        return _out(house, house.store.job(job))

    @routes.get("/jobs/{job}/events", response_class=StreamingResponse, responses={**EVENTS, **fails(404)})
    async def job_events(job: str) -> StreamingResponse:
        """Progress as server-sent events, until the job has ended."""
        return StreamingResponse(_events(house, house.store.job(job)), media_type="text/event-stream")

    @routes.get("/jobs/{job}/preview", response_class=Response, responses={**IMAGE, **fails(404, 409)})
    async def job_preview(job: str) -> Response:
        """The picture so far; it may be smaller than the photo."""
        found = house.store.job(job)
        if found.preview is None:
            raise _NOT_YET
        return Response(found.preview, media_type="image/jpeg")

    @routes.get("/jobs/{job}/picture", response_class=Response, responses={**IMAGE, **fails(404, 409)})
    async def job_picture(job: str) -> Response:
        """The result as a browser shows it."""
        found = _finished(house, job)
        return await stored_answer(found.file("picture"), found.photo.display)

    @routes.get("/jobs/{job}/mask", response_class=Response, responses={**IMAGE, **fails(404, 409)})
    async def job_mask(job: str) -> Response:
        """Where the photo was changed, and how much."""
        return await stored_answer(_finished(house, job).file("mask"), "image/png")

    @routes.get("/jobs/{job}/result", response_class=Response, responses={**PHOTO, **fails(404, 409)})
    async def job_result(job: str) -> Response:
        """The photo to keep: in its own format, at full resolution, with its metadata."""
        found = _finished(house, job)
        return await stored_answer(found.file("result"), *_download(found.photo))

    @routes.post("/jobs/{job}/cancel", responses=fails(404, 415))
    async def cancel_job(job: str) -> JobOut:
        """End a job; one that is being worked on ends at its next step."""
        found = house.store.job(job)
        house.cancel(found.task)
        return _out(house, found)

    @routes.delete("/jobs/{job}", status_code=204, responses=fails(404))
    async def delete_job(job: str) -> None:
        """End a job if it has not ended, and delete what it made."""
        found = house.store.job(job)
        house.cancel(found.task)
        house.store.drop_job(found)

    @routes.post(
        "/remove",
        response_class=Response,
        responses={**PHOTO, **fails(400, 408, 409, 413, 415, 422, 429, 503)},
        dependencies=[Depends(each_once)],
    )
    async def remove(form: RemoveParts, request: Request) -> Response:
        """Take a photo and give it back without its shadows. Nothing is kept."""
        house.queue.check_room()
        entry = await house.take_in(form.file, show=False)
        try:
            job = await house.start_job(entry, form, keep=False)
            await house.result_of(job, request)
            kind, headers = _download(entry)
            headers["Deshadow-Shadow"] = "found" if job.found else "none"
            return await stored_answer(job.file("result"), kind, headers)
        finally:
            house.forget(entry)  # what is being sent stays readable: it is open

    return routes


def _finished(house: House, name: str) -> Job:
    job = house.store.job(name)
    if job.task.state != "done":
        raise _NOT_YET
    return job


def _download(entry: Entry) -> tuple[str, dict[str, str]]:
    """Type and name of a result; a raw photo is written as TIFF."""
    written = FORMATS["TIFF" if entry.format == "RAW" else entry.format]
    name = PurePath(entry.name)
    ending = name.suffix if name.suffix.lower() in written.endings else written.endings[0]
    return f"image/{written.name.lower()}", attachment(f"{name.stem}.deshadowed{ending}")


def _out(house: House, job: Job) -> JobOut:
    task, address = job.task, f"/api/jobs/{job.id}"
    done, seconds = task.state == "done", task.elapsed()
    known = task.state == "running" and task.share > 0.05
    return JobOut(
        id=job.id,
        photo=job.photo.id,
        base=job.base,
        state=task.state,
        position=house.queue.position(task),
        share=round(task.share, 4),
        stage=task.stage,
        done=task.done,
        total=task.total,
        found=job.found if done else None,
        seconds=round(seconds, 2),
        left=round(seconds * (1 - task.share) / task.share, 1) if known else None,
        preview=f"{address}/preview?n={job.previews}" if job.preview and not done else None,
        picture=f"{address}/picture" if done else None,
        result=f"{address}/result" if done else None,
        mask=f"{address}/mask" if done else None,
        error=ErrorDetail(code=task.error.code, message=task.error.detail) if task.error else None,
    )


async def _events(house: House, job: Job) -> AsyncIterator[str]:
    over = asyncio.wrap_future(job.task.over)
    loop = asyncio.get_running_loop()
    told: tuple[int, int, int] | None = None
    spoke = loop.time()
    while not job.task.over.done():
        news = (job.task.version, job.previews, house.queue.position(job.task))
        if news != told:
            told, spoke = news, loop.time()
            yield f"event: progress\ndata: {_out(house, job).model_dump_json()}\n\n"
        elif loop.time() - spoke > _SILENCE:
            spoke = loop.time()
            yield ": still there\n\n"
        await asyncio.wait([over], timeout=_PAUSE)
    yield f"event: end\ndata: {_out(house, job).model_dump_json()}\n\n"
