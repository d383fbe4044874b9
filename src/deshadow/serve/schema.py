"""The forms that the API takes and the JSON that it returns; the OpenAPI description is made from them."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Form, Request, UploadFile
from pydantic import BaseModel, ConfigDict, Field, create_model

from deshadow.removal.options import Option, RemovalOptions, list_options
from deshadow.serve.errors import ApiError
from deshadow.serve.queue import TaskState

_REPEATABLE = {"instances", "points"}
"""Fields that may occur several times in a form."""


# Requests


class PhotoForm(BaseModel):
    """A photo to upload."""

    model_config = ConfigDict(extra="forbid")

    file: Annotated[UploadFile, Field(description="The photo.")]


class SelectionForm(BaseModel):
    """Which shadows to remove. Without instances, points and mask, all are that `sensitivity` allows."""

    model_config = ConfigDict(extra="forbid")

    instances: Annotated[
        list[Annotated[int, Field(ge=1, le=255)]],
        Field(
            max_length=255,
            description="Number of a shadow to remove, as `shadows` lists it. Repeat the field for several.",
        ),
    ] = []
    points: Annotated[
        list[Annotated[str, Field(pattern=r"^[0-9]{1,6},[0-9]{1,6}$")]],
        Field(
            max_length=255,
            description="`X,Y`: a point in a shadow to remove. Repeat the field for several shadows.",
        ),
    ] = []
    mask: Annotated[
        UploadFile | None,
        Field(
            description="A picture of the photo's shape, at any size, white where the shadow is. Found "
            "shadows that it covers by less than a tenth do not change, except for the pixels in the mask."
        ),
    ] = None
    base: Annotated[
        str,
        Field(
            max_length=64,
            description="Id of a finished job of this photo: the removal starts from its result.",
        ),
    ] = ""


def _form_field(option: Option) -> Any:
    """The form field of an option: its annotation and its default."""
    limits: dict[str, Any] = {}
    if option.range is not None:
        limits = {"ge": option.range.minimum, "le": option.range.maximum, "allow_inf_nan": False}
    return (Annotated[option.type, Field(description=option.help, **limits)], option.default)


if TYPE_CHECKING:

    class JobForm(SelectionForm):
        """Which shadows to remove, and with which options."""

else:
    JobForm = create_model(
        "JobForm",
        __base__=SelectionForm,
        __doc__="Which shadows to remove, and with which options.",
        **{option.name: _form_field(option) for option in list_options("http")},
    )


class RemoveForm(JobForm):
    """A photo, which of its shadows to remove, and with which options."""

    file: Annotated[UploadFile, Field(description="The photo.")]
    base: Annotated[Literal[""], Field(description="Must be empty: there is no earlier job.")] = ""


def read_options(form: JobForm) -> RemovalOptions:
    """The removal options of a form."""
    return RemovalOptions(**{option.name: getattr(form, option.name) for option in list_options("http")})


_MULTIPART = Form(media_type="multipart/form-data")
PhotoParts = Annotated[PhotoForm, _MULTIPART]
JobParts = Annotated[JobForm, _MULTIPART]
RemoveParts = Annotated[RemoveForm, _MULTIPART]


async def reject_repeated_fields(request: Request) -> None:
    """Raise an error if a field occurs twice that may occur once; the framework would ignore one of them."""
    form = await request.form()
    names = Counter(name for name, _ in form.multi_items())
    for name, count in names.items():
        if count > 1 and name not in _REPEATABLE:
            code = "mask" if name == "mask" else "invalid"
            raise ApiError(422, code, f"The field {name[:40]!r} was sent {count} times; send it once.")


# Responses


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: Annotated[str, Field(description="For programs.")]
    message: Annotated[str, Field(description="For people.")]


class Error(BaseModel):
    """The body of every response of status 400 or more."""

    error: ErrorDetail


class PhotoOut(BaseModel):
    """An uploaded photo."""

    id: str
    name: str
    format: str
    width: int
    height: int
    scale: Annotated[
        float, Field(description="Pixels of the photo that `dilate` = 1 or `feather` = 1 stand for.")
    ]
    bytes: int
    expires: Annotated[float, Field(description="Seconds after its last use until the photo is deleted.")]
    picture: Annotated[str, Field(description="Address of the photo for display.")]
    shadows: Annotated[str, Field(description="Address of the list of its shadows.")]
    labels: Annotated[str, Field(description="Address of the picture of its shadows' numbers.")]


class ShadowOut(BaseModel):
    """One found shadow. Number 1 is the largest."""

    number: int
    sure: Annotated[
        bool,
        Field(description="false: it may be something else, and is not removed unless it is selected."),
    ]
    area: Annotated[int, Field(description="In pixels.")]
    box: Annotated[
        tuple[int, int, int, int], Field(description="Left, top, right and bottom; the last two exclusive.")
    ]
    centre: Annotated[
        tuple[int, int], Field(description="X, Y of the pixel of the shadow nearest its centre.")
    ]


class ShadowsOut(BaseModel):
    """The shadows found in a photo."""

    instances: list[ShadowOut]
    labels: Annotated[str, Field(description="Address of the picture of their numbers.")]


class JobOut(BaseModel):
    """The state of a removal, and the addresses of its pictures."""

    id: str
    photo: str
    base: str | None
    state: TaskState
    position: Annotated[int, Field(description="Number of tasks before this one in the queue.")]
    share: Annotated[float, Field(description="Share of the work that is done, from 0 to 1.")]
    stage: Annotated[str, Field(description="`waiting`, `detect`, `quick`, `windows` or `write`.")]
    done: Annotated[int, Field(description="Number of windows that are done.")]
    total: Annotated[int, Field(description="Number of windows.")]
    found: Annotated[
        bool | None, Field(description="false: no shadow was found, and the photo is unchanged.")
    ]
    left_out: Annotated[
        int, Field(description="Number of found shadows that stay because they may be something else.")
    ]
    seconds: Annotated[float, Field(description="Seconds since the work began.")]
    left: Annotated[float | None, Field(description="Estimate of the seconds until the job is done.")]
    preview: str | None
    picture: str | None
    result: str | None
    mask: str | None
    error: ErrorDetail | None


class ChoiceOut(BaseModel):
    """An option with a few possible values."""

    help: str
    page: Annotated[bool, Field(description="Whether the page has a control for it.")]
    default: str
    choices: list[str]


class RangeOut(BaseModel):
    """An option that is a number."""

    help: str
    page: Annotated[bool, Field(description="Whether the page has a control for it.")]
    default: float
    minimum: float
    maximum: float
    step: float


class FormatOut(BaseModel):
    """A format in which a result can be downloaded."""

    name: str
    lossy: Annotated[bool, Field(description="Whether it takes a quality.")]


class SettingsOut(BaseModel):
    """Limits of this server, and the removal options."""

    version: str
    max_upload: Annotated[int, Field(description="Largest upload, in bytes.")]
    max_pixels: Annotated[int, Field(description="Largest photo, in pixels.")]
    expire: Annotated[float, Field(description="Seconds after its last use until a photo is deleted.")]
    queue: Annotated[int, Field(description="Number of tasks that may wait.")]
    accept: Annotated[
        str,
        Field(
            description="What a file dialog should offer: pictures, and the endings that the server reads."
        ),
    ]
    formats: Annotated[list[FormatOut], Field(description="Formats in which results can be downloaded.")]
    options: dict[str, ChoiceOut | RangeOut]


class HealthOut(BaseModel):
    """Says that the server is running."""

    status: Literal["ok"]


def describe_option(option: Option) -> ChoiceOut | RangeOut:
    """An option as `/api/settings` shows it."""
    page = "page" in option.interfaces
    if option.range is None:
        return ChoiceOut(help=option.help, page=page, default=option.default, choices=list(option.choices))
    return RangeOut(
        help=option.help,
        page=page,
        default=option.default,
        minimum=option.range.minimum,
        maximum=option.range.maximum,
        step=option.range.step,
    )


# What the OpenAPI description says about responses

Responses = dict[int | str, dict[str, Any]]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
IMAGE: Responses = {
    200: {"description": "The picture.", "content": {"image/jpeg": _BYTES, "image/png": _BYTES}}
}
PHOTO: Responses = {
    200: {"description": "The photo, in the format of the upload.", "content": {"image/*": _BYTES}}
}
EVENTS: Responses = {
    200: {
        "description": "`progress` events, then one `end` event; the data of each is the job.",
        "content": {"text/event-stream": {}},
    }
}
_STATUSES = {
    400: "The body is not valid multipart/form-data.",
    401: "The token is missing or wrong.",
    403: "The Host header is unknown, or the request comes from a page of another site.",
    404: "It does not exist, or no longer exists.",
    405: "The address does not accept this method.",
    408: "The upload stalled.",
    409: "The job is not finished, or was cancelled.",
    413: "Too many bytes or pixels.",
    415: "The body is not multipart/form-data.",
    422: "A field, the photo or the mask is invalid.",
    429: "The server is busy: try again after the seconds in Retry-After.",
    503: "The server is shutting down.",
}


def error_responses(*statuses: int) -> Responses:
    """The errors that an address may answer with, and those that every address may answer with."""
    possible = sorted({401, 403, 422, *statuses})
    return {status: {"model": Error, "description": _STATUSES[status]} for status in possible}
