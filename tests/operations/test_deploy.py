"""The files in deploy/: of their schemas, of one mind with the service, and without privileges.

They are not built or run here: that needs a container engine.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import jsonschema
import kubernetes_validate
import pytest
import yaml

from imabo.cli.parser import make_parser
from imabo.server.settings import MEANINGS, Settings, read_settings
from tests.server.shell import serving

ROOT: Final = Path(__file__).parents[2]
DOCKERFILE: Final = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
MANIFESTS: Final = list(
    yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text(encoding="utf-8"))
)
COMPOSE: Final = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text(encoding="utf-8"))

TEXTS: Final = {"type": "array", "items": {"type": "string"}}
DURATION: Final = {"type": "string", "pattern": r"^\d+(s|m)$"}
SERVICE: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "image": {"type": "string"},
        "build": {
            "type": "object",
            "additionalProperties": False,
            "required": ["context", "dockerfile"],
            "properties": {"context": {"type": "string"}, "dockerfile": {"type": "string"}},
        },
        "command": TEXTS,
        "environment": {"type": "object", "additionalProperties": {"type": "string"}},
        "ports": TEXTS,
        "volumes": TEXTS,
        "depends_on": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"condition": {"enum": ["service_started", "service_healthy"]}},
            },
        },
        "healthcheck": {
            "type": "object",
            "additionalProperties": False,
            "required": ["test"],
            "properties": {"test": TEXTS, "interval": DURATION, "retries": {"type": "integer"}},
        },
        "read_only": {"type": "boolean"},
        "tmpfs": TEXTS,
        "cap_drop": TEXTS,
        "security_opt": TEXTS,
        "stop_grace_period": DURATION,
        "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
    },
}
COMPOSE_SCHEMA: Final = {
    "type": "object",
    "additionalProperties": False,
    "required": ["services"],
    "properties": {
        "services": {"type": "object", "additionalProperties": SERVICE},
        "volumes": {"type": "object"},
    },
}


def container() -> Any:
    (found,) = (one for one in MANIFESTS if one["kind"] == "Deployment")
    return found["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("version", ["1.29", "1.33"])
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: one["kind"])
def test_a_manifest_is_one_that_kubernetes_takes(manifest: Any, version: str) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)


def test_the_check_of_manifests_can_fail() -> None:
    wrong = json.loads(json.dumps(MANIFESTS[0]))
    wrong["spec"]["replica"] = wrong["spec"].pop("replicas")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.33", strict=True)


def test_the_manifests_fit_each_other_and_the_service() -> None:
    deployment, service, budget = MANIFESTS
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels == service["spec"]["selector"]
    assert budget["spec"]["selector"]["matchLabels"] == labels
    runs = container()
    options = make_parser("serve").parse_args(runs["args"])
    settings = read_settings(vars(options), {"IMABO_STORE": "postgresql://imabo@database/imabo"})
    (port,) = runs["ports"]
    assert port["containerPort"] == settings.port == Settings().port
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    grace_s = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace_s > settings.drain_s + 3
    assert {one["name"] for one in runs["env"]} <= {f"IMABO_{name.upper()}" for name in MEANINGS}


def test_nothing_has_privileges_or_a_file_system_to_write_to() -> None:
    pod = MANIFESTS[0]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    mine = container()["securityContext"]
    assert (mine["readOnlyRootFilesystem"], mine["allowPrivilegeEscalation"]) == (True, False)
    composed = COMPOSE["services"]["imabo"]
    assert (composed["read_only"], composed["cap_drop"]) == (True, ["ALL"])
    user = re.search(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    assert user is not None
    assert int(user[1]) == pod["securityContext"]["runAsUser"] > 0


def test_the_compose_file_is_of_its_schema_and_builds_what_is_there() -> None:
    jsonschema.validate(COMPOSE, COMPOSE_SCHEMA)
    build = COMPOSE["services"]["imabo"]["build"]
    folder = (ROOT / "deploy" / build["context"]).resolve()
    assert (folder / build["dockerfile"]).is_file()
    named = {one.partition(":")[0] for one in COMPOSE["services"]["database"]["volumes"]}
    assert named == set(COMPOSE["volumes"])
    store = COMPOSE["services"]["imabo"]["environment"]["IMABO_STORE"]
    assert store.startswith("postgresql://imabo:")
    assert store.endswith("@database/imabo")


def test_the_dockerfile_copies_and_installs_what_there_is() -> None:
    sources = re.findall(r"^COPY (?!--from)(.+) \./?\w*$", DOCKERFILE, re.MULTILINE)
    names = [name for line in sources for name in line.split()]
    assert names
    assert all((ROOT / name).exists() for name in names)
    kept = (ROOT / "deploy/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in names} <= set(kept)
    extras = re.search(r'"\.\[([\w,]+)\]"', DOCKERFILE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert extras is not None
    assert set(extras[1].split(",")) <= set(project["project"]["optional-dependencies"])
    variables = re.findall(r"IMABO_([A-Z_]+)=(\S+)", DOCKERFILE)
    environ = {f"IMABO_{name}": value for name, value in variables}
    assert {name.lower() for name, _ in variables} <= set(MEANINGS)
    assert read_settings({}, environ).host == "0.0.0.0"


def test_the_health_check_tells_a_service_that_runs_from_one_that_does_not(
    tmp_path: Path,
) -> None:
    found = re.search(r'CMD \["python", "-c", "(.+)"\]', DOCKERFILE)
    assert found is not None

    def healthy(port: int) -> bool:
        code = found[1].replace("8766", str(port))
        return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0

    with serving(f"sqlite:///{tmp_path}/imabo.db") as server:
        port = int(server.url.rpartition(":")[2])
        assert healthy(port)
        server.stop()
    assert not healthy(port)


def test_only_the_database_is_written(tmp_path: Path) -> None:
    """What a read-only file system needs: no other file appears while the service runs."""
    home, data = tmp_path / "home", tmp_path / "data"
    for folder in (home, data):
        folder.mkdir()
    before = os.getcwd()
    os.chdir(home)
    try:
        with serving(f"sqlite:///{data}/imabo.db") as server:
            server.stop()
    finally:
        os.chdir(before)
    assert list(home.iterdir()) == []
    assert {path.name.partition("-")[0] for path in data.iterdir()} == {"imabo.db"}
