"""Addresses of photos and of the shadows in them."""

import dataclasses

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from deshadow.removal.masks import SEEN
from deshadow.serve.description import IMAGE, fails
from deshadow.serve.files import stored_answer
from deshadow.serve.forms import PhotoOut, ShadowOut, ShadowsOut
from deshadow.serve.house import House
from deshadow.serve.parts import PhotoParts, each_once
from deshadow.serve.store import Entry


def photo_routes(house: House) -> APIRouter:
    """Upload, look, detect, delete."""
    routes = APIRouter(prefix="/api/photos", tags=["photos"])

    @routes.post(
        "",
        status_code=201,
        responses=fails(400, 408, 413, 415, 422, 429, 503),
        dependencies=[Depends(each_once)],
    )
    async def upload_photo(form: PhotoParts, response: Response) -> PhotoOut:
        """Upload a photo. It is kept until some time after its last use."""
        entry = await house.take_in(form.file, show=True)
        response.headers["Location"] = f"/api/photos/{entry.id}"
        return _out(entry, house.settings.expire)

    @routes.get("/{photo}", responses=fails(404))
    async def photo(photo: str) -> PhotoOut:
        """What the server knows of a photo."""
        return _out(house.store.photo(photo), house.settings.expire)

    @routes.get("/{photo}/picture", response_class=Response, responses={**IMAGE, **fails(404)})
    async def photo_picture(photo: str) -> Response:
        """The photo as a browser shows it: full size, sRGB, upright."""
        entry = house.store.photo(photo)
        return await stored_answer(entry.file("picture"), entry.display)

    @routes.get("/{photo}/shadows", responses=fails(404, 409, 422, 429, 503))
    async def photo_shadows(photo: str, request: Request) -> ShadowsOut:
        """Find the shadows, one by one. The first time this takes as long as the detector does."""
        entry = house.store.photo(photo)
        await house.find_shadows(entry, request)
        found = [ShadowOut(**dataclasses.asdict(shadow)) for shadow in entry.shadows or ()]
        return ShadowsOut(instances=found, labels=f"/api/photos/{entry.id}/labels.png")

    @routes.get(
        "/{photo}/labels.png",
        response_class=Response,
        responses={**IMAGE, **fails(404, 409, 422, 429, 503)},
    )
    async def photo_labels(photo: str, request: Request) -> Response:
        """A grey picture of the photo's size whose values are the numbers of the shadows."""
        entry = house.store.photo(photo)
        await house.find_shadows(entry, request)
        return await stored_answer(entry.file("labels"), "image/png")

    @routes.delete("/{photo}", status_code=204, responses=fails(404))
    async def delete_photo(photo: str) -> None:
        """Delete a photo with all that was made of it; work on it is cancelled."""
        house.forget(house.store.photo(photo))

    return routes


def _out(entry: Entry, expire: float) -> PhotoOut:
    return PhotoOut(
        id=entry.id,
        name=entry.name,
        format=entry.format,
        width=entry.width,
        height=entry.height,
        scale=max(1.0, max(entry.width, entry.height) / SEEN),
        bytes=entry.size,
        expires=expire,
        picture=f"/api/photos/{entry.id}/picture",
        shadows=f"/api/photos/{entry.id}/shadows",
        labels=f"/api/photos/{entry.id}/labels.png",
    )
