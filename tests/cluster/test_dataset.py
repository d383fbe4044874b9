"""Shadow removal inside a pipeline of Ray Data, on the cluster of two nodes."""

from pathlib import Path

import pytest
import ray
import ray.data
from clusters import MEMORY, TwoNodes, encode_kind

import deshadow
from deshadow.cluster import Resources, remove_shadows
from deshadow.cluster.run import connect

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning"
    ),  # Ray leaves pipes of its processes to the collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_a_dataset_of_bytes_or_addresses_gets_results(two_nodes: TwoNodes, tmp_path: Path) -> None:
    photos = [encode_kind(kind, kind, 72) for kind in range(4)]
    paths = [tmp_path / f"{number}{ending}" for number, (ending, _) in enumerate(photos)]
    for path, (_, data) in zip(paths, photos, strict=True):
        path.write_bytes(data)
    items = [{"key": number, "bytes": data} for number, (_, data) in enumerate(photos)]
    items.append({"key": 4, "bytes": b"not a photo"})
    resources = Resources(workers=1, memory=MEMORY)
    with connect(two_nodes.address):
        out = remove_shadows(ray.data.from_items(items), resources=resources, strength=0.5).take_all()
        by_address = remove_shadows(
            ray.data.from_items([{"path": str(path)} for path in paths]),
            "path",
            resources=resources,
            strength=0.5,
        ).take_all()
    assert not ray.is_initialized()
    found = {row["key"]: row for row in out}
    remover = deshadow.Remover()
    for number, (_, data) in enumerate(photos):
        assert found[number]["result"] == remover.remove(data, strength=0.5)
    assert {row["path"]: row["result"] for row in by_address} == {
        str(path): found[number]["result"] for number, path in enumerate(paths)
    }
    assert (found[4]["status"], found[4]["result"]) == ("failed", None)
    assert found[4]["error"].startswith("the photo is not a photo that can be read")
    assert found[1]["shadows"] >= 1
    assert 0 < found[1]["fraction_relit"] < 1
