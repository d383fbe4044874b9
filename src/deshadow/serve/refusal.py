"""What the server says when it does not do what it was asked: `{"error": {"code", "message"}}`."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

INTERNAL = "Something went wrong in the server; its log says what."


class Refusal(HTTPException):
    """An answer of 400 or more, with a code for programs and a sentence for people."""

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        headers = None if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(status, message, headers)
        self.code = code


def not_found(what: str) -> Refusal:
    """There is no such thing, or there is none any more."""
    return Refusal(404, "not_found", f"There is no such {what}; it may have expired or been deleted.")


def body(code: str, message: str) -> dict[str, dict[str, str]]:
    """The shape of every error."""
    return {"error": {"code": code, "message": message}}


def answer(refusal: HTTPException) -> JSONResponse:
    """The response for a refusal of ours, or of the framework's."""
    code, message = _framework(refusal)
    return JSONResponse(body(code, message), refusal.status_code, headers=refusal.headers)


def _framework(refusal: HTTPException) -> tuple[str, str]:
    if isinstance(refusal, Refusal):
        return refusal.code, refusal.detail
    match refusal.status_code:
        case 400:
            return "malformed", "The body is not multipart/form-data that can be read."
        case 404:
            return "not_found", "There is nothing at this address; /api/docs lists what there is."
        case 405:
            return "method", "This address does not take that method; /api/docs lists what there is."
    return "refused", "The request cannot be answered."


def invalid(errors: Sequence[Mapping[str, Any]]) -> Refusal:
    """Say which field is wrong, in one sentence."""
    first = errors[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    match first["type"]:
        case "missing":
            message = f"The field {field!r} is missing."
        case "extra_forbidden":
            message = f"There is no field {field[:40]!r}; /api/docs lists them."
        case _ if "UploadFile" in first["msg"]:
            message = f"The field {field!r} takes a file."
        case _:
            message = f"The field {field!r} is wrong: {first['msg']}."
    return Refusal(422, "invalid", message)
