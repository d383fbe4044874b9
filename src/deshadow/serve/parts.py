"""How the parts of a multipart body reach a route."""

from collections import Counter
from typing import Annotated

from fastapi import Form, Request

from deshadow.serve.forms import JobForm, PhotoForm, RemoveForm
from deshadow.serve.refusal import Refusal

PhotoParts = Annotated[PhotoForm, Form(media_type="multipart/form-data")]
JobParts = Annotated[JobForm, Form(media_type="multipart/form-data")]
RemoveParts = Annotated[RemoveForm, Form(media_type="multipart/form-data")]
_REPEATABLE = {"instances", "points"}


async def each_once(request: Request) -> None:
    """Refuse a field that comes twice, instead of taking one of the two."""
    form = await request.form()
    names = Counter(name for name, _ in form.multi_items())
    for name, count in names.items():
        if count > 1 and name not in _REPEATABLE:
            code = "mask" if name == "mask" else "invalid"
            raise Refusal(422, code, f"The field {name[:40]!r} was given {count} times; give it once.")
