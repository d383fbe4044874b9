"""The server against its own description, by requests that a program makes up."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import Served, encoded, parts, scene, serving

from deshadow.serve.settings import Settings

# Not that what fits the description is taken: bytes fit it that are no picture.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
PHOTO, MASK = encoded(scene()), encoded(scene()[..., 0])
EXAMPLES = 60
"""Requests to each address, in each of two ways: as described, and not as described."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(settings=Settings(queue=1000)) as server:
        yield server


def operations(served: Served) -> list[Any]:
    schema = schemathesis.openapi.from_dict(served.http.get("/api/openapi.json").json())
    found: list[Any] = list(schema.get_all_operations())
    return [operation.ok() for operation in found]


def test_every_address_is_described(served: Served) -> None:
    assert len(operations(served)) == 20


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_breaks_the_server_or_the_description(served: Served, mode: GenerationMode) -> None:
    photo = served.upload(PHOTO)["id"]
    job = served.wait(served.start(photo)["id"])["id"]
    statuses: Counter[int] = Counter()

    def ask(operation: Any) -> None:
        @given(case=operation.as_strategy(generation_mode=mode), known=st.booleans())
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        def one(case: Any, known: bool) -> None:
            if known and case.method != "DELETE":  # otherwise hardly any request finds anything
                for name, value in (("photo", photo), ("job", job)):
                    if name in case.path_parameters:
                        case.path_parameters[name] = value
                for name, data in (("file", PHOTO), ("mask", MASK)):
                    if isinstance(case.body, dict) and name in case.body:
                        case.body[name] = data
            answer = case.call(base_url=str(served.http.base_url))
            statuses[answer.status_code] += 1
            case.validate_response(answer, checks=CHECKS)

        one()

    for operation in operations(served):
        if mode.is_positive or operation.body:  # where nothing is sent, nothing can be sent wrongly
            ask(operation)
    assert max(statuses) < 500
    assert statuses[200 if mode.is_positive else 422] > 20
    assert served.http.post("/api/remove", files=parts(file=PHOTO)).status_code == 200
