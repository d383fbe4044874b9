"""Joining a cluster where the process that Ray's server starts for the driver ends at once."""

from typing import Any

import pytest
import ray

from deshadow.cluster import run

ENDED = ConnectionAbortedError("Initialization failure from server: Starting Ray client server failed")
NOBODY = ConnectionError("no cluster answers")


@pytest.mark.parametrize(
    ("errors", "calls"), [([ENDED], 2), ([ENDED, ENDED], 3), ([ENDED] * 3, 3), ([NOBODY], 1)]
)
def test_only_that_failure_is_tried_again(
    errors: list[Exception], calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def join(address: str, **_: Any) -> None:
        tried.append(address)
        if len(tried) <= len(errors):
            raise errors[len(tried) - 1]

    monkeypatch.setattr(ray, "init", join)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(run, "_check_answer", lambda _: None)
    if calls == len(errors):
        with pytest.raises(ValueError, match=str(errors[-1])), run.connect("ray://there:10001"):
            pass
    else:
        with run.connect("ray://there:10001"):
            pass
    assert tried == ["ray://there:10001"] * calls
