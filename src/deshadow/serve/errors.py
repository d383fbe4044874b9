"""Errors that the server answers with: `{"error": {"code": "…", "message": "…"}}`."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

INTERNAL = "The server failed; the error is in its log."


class ApiError(HTTPException):
    """A response of status 400 or more, with a code for programs and a sentence for people."""

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        headers = None if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(status, message, headers)
        self.code = code


def not_found(what: str) -> ApiError:
    """The error for a photo, job or file that does not exist, or no longer exists."""
    return ApiError(404, "not_found", f"There is no such {what}; it may have expired or been deleted.")


def stopping() -> ApiError:
    """The error for requests that arrive, or wait, while the server stops."""
    return ApiError(503, "stopping", "The server is shutting down.")


def unfinished() -> ApiError:
    """The error for requests for the result of a job that is not finished."""
    return ApiError(409, "not_ready", "The job is not finished; its `state` says how far it is.")


def error_body(code: str, message: str) -> dict[str, dict[str, str]]:
    """The JSON of every error."""
    return {"error": {"code": code, "message": message}}


def error_response(error: HTTPException) -> JSONResponse:
    """The response for an error that was raised here or by the framework."""
    code, message = _explain(error)
    return JSONResponse(error_body(code, message), error.status_code, headers=error.headers)


def _explain(error: HTTPException) -> tuple[str, str]:
    """Code and message of an error."""
    if isinstance(error, ApiError):
        return error.code, error.detail
    match error.status_code:
        case 400:
            return "malformed", "The body is not valid multipart/form-data."
        case 404:
            return "not_found", "There is nothing at this address; /api/docs lists all addresses."
        case 405:
            return "method", "This address does not accept this method; /api/docs lists the methods."
    return "refused", "The server cannot answer this request."


def validation_error(errors: Sequence[Mapping[str, Any]]) -> ApiError:
    """The error that names the first wrong field of a form."""
    first = errors[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    match first["type"]:
        case "missing":
            message = f"The field {field!r} is missing."
        case "extra_forbidden":
            message = f"There is no field {field[:40]!r}; /api/docs lists the fields."
        case _ if "UploadFile" in first["msg"]:
            message = f"The field {field!r} must be a file."
        case _:
            message = f"The field {field!r} is invalid: {first['msg']}."
    return ApiError(422, "invalid", message)
