"""Joining a cluster whose server fails once, as Ray's does when one of its processes has just ended."""

from typing import Any

import pytest
import ray

from deshadow.cluster import run

RACE = "Initialization failure from server: psutil.ZombieProcess: PID still exists but it's a zombie (pid=7)"


@pytest.mark.parametrize(("message", "calls"), [(RACE, 2), ("no cluster answers", 1)])
def test_only_that_failure_is_tried_again(message: str, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def join(address: str, **_: Any) -> None:
        tried.append(address)
        if len(tried) == 1:
            raise ConnectionAbortedError(message)

    monkeypatch.setattr(ray, "init", join)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(run, "_check_answer", lambda _: None)
    if calls == 1:
        with pytest.raises(ValueError, match="no cluster answers"), run.connect("ray://there:10001"):
            pass
    else:
        with run.connect("ray://there:10001"):
            pass
    assert tried == ["ray://there:10001"] * calls
