"""What the OpenAPI description says about answers."""

from typing import Any

from deshadow.serve.forms import Error

_BYTES = {"schema": {"type": "string", "format": "binary"}}
IMAGE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The picture.", "content": {"image/jpeg": _BYTES, "image/png": _BYTES}}
}
PHOTO: dict[int | str, dict[str, Any]] = {
    200: {"description": "The photo, in the format that it came in.", "content": {"image/*": _BYTES}}
}
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "`progress` events, then one `end` event; the data of each is the job.",
        "content": {"text/event-stream": {}},
    }
}
_MEANING = {
    400: "The body is not multipart that can be read.",
    401: "A token is needed.",
    403: "Asked under a foreign name, or by a page of another site.",
    404: "There is no such thing (any more).",
    405: "Not with this method.",
    408: "The upload stalled.",
    409: "Not ready, or cancelled.",
    413: "Too many bytes or pixels.",
    415: "The body is not multipart/form-data.",
    422: "A field, the photo or the mask cannot be used.",
    429: "Come back after the seconds in Retry-After.",
    503: "The server is being stopped.",
}


def fails(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals that an address may answer with; some are possible everywhere."""
    possible = sorted({401, 403, 422, *statuses})
    return {status: {"model": Error, "description": _MEANING[status]} for status in possible}
