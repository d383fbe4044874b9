"""The example files: parsed, checked against their schemas, and their commands against the command line."""

import json
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import ray.autoscaler
import yaml

from deshadow.cli.app import app
from deshadow.cli.batch import batch
from deshadow.cluster.settings import Resources

EXAMPLES = Path(__file__).parents[2] / "examples"
_POD = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["containers"],
            "properties": {
                "serviceAccountName": {"type": "string"},
                "containers": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["name", "image"],
                        "properties": {
                            "name": {"type": "string"},
                            "image": {"type": "string"},
                            "resources": {
                                "type": "object",
                                "additionalProperties": {"additionalProperties": {"type": "string"}},
                            },
                        },
                        "additionalProperties": False,
                    },
                },
            },
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
_PARAMETERS = {"type": "object", "additionalProperties": {"type": "string"}}
RAY_JOB = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "ray.io/v1"},
        "kind": {"const": "RayJob"},
        "metadata": {"type": "object", "required": ["name"]},
        "spec": {
            "type": "object",
            "required": ["entrypoint", "rayClusterSpec"],
            "properties": {
                "entrypoint": {"type": "string"},
                "backoffLimit": {"type": "integer", "minimum": 0},
                "shutdownAfterJobFinishes": {"type": "boolean"},
                "ttlSecondsAfterFinished": {"type": "integer", "minimum": 0},
                "rayClusterSpec": {
                    "type": "object",
                    "required": ["headGroupSpec", "workerGroupSpecs"],
                    "properties": {
                        "rayVersion": {"type": "string"},
                        "enableInTreeAutoscaling": {"type": "boolean"},
                        "headGroupSpec": {
                            "type": "object",
                            "required": ["rayStartParams", "template"],
                            "properties": {"rayStartParams": _PARAMETERS, "template": _POD},
                            "additionalProperties": False,
                        },
                        "workerGroupSpecs": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["groupName", "template", "minReplicas", "maxReplicas"],
                                "properties": {
                                    "groupName": {"type": "string"},
                                    "replicas": {"type": "integer"},
                                    "minReplicas": {"type": "integer"},
                                    "maxReplicas": {"type": "integer"},
                                    "rayStartParams": _PARAMETERS,
                                    "template": _POD,
                                },
                                "additionalProperties": False,
                            },
                        },
                    },
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
"""The fields of KubeRay's API ray.io/v1 that the example uses; its own schema has 25,000 lines."""


def read(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text())


def check_command(words: str) -> None:
    program, *arguments = shlex.split(words)
    assert program == "deshadow"
    command, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert command is batch
    assert bound.arguments["address"] == "auto"


def test_the_cluster_file_has_the_schema_of_ray() -> None:
    schema = json.loads((Path(ray.autoscaler.__file__).parent / "ray-schema.json").read_text())
    jsonschema.validate(read("ray-cluster.yaml"), schema)
    comment = (EXAMPLES / "ray-cluster.yaml").read_text()
    _, command, *_ = comment.split("'")
    check_command(command)


def test_the_ray_job_has_the_fields_of_kuberay() -> None:
    job = read("rayjob.yaml")
    jsonschema.validate(job, RAY_JOB)
    check_command(job["spec"]["entrypoint"])


def test_the_workers_of_the_ray_job_fit_into_its_pods() -> None:
    job = read("rayjob.yaml")["spec"]
    (group,) = job["rayClusterSpec"]["workerGroupSpecs"]
    limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
    cores, memory = int(limits["cpu"]), int(limits["memory"].removesuffix("Gi"))
    wanted = int(job["entrypoint"].split("--workers ")[1].split()[0])
    assert wanted == cores * group["maxReplicas"]
    assert 0.8 * memory >= cores * Resources().memory


@pytest.mark.parametrize("name", ["ray-cluster.yaml", "rayjob.yaml"])
def test_a_misspelt_field_is_found(name: str) -> None:
    file = read(name)
    schema = json.loads((Path(ray.autoscaler.__file__).parent / "ray-schema.json").read_text())
    (file["spec"] if name == "rayjob.yaml" else file)["maxworkers"] = 3
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(file, RAY_JOB if name == "rayjob.yaml" else schema)
