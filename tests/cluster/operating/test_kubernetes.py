"""The manifest of examples/kubernetes: valid, and true of the server that it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from mcp_gen.cli.app import app
from mcp_gen.client.connecting.python_code import load
from mcp_gen.transports.health import HEALTH_PATHS
from tests.support.frames import HANDSHAKE, Speaker
from tests.support.http.asgi import surfing

EXAMPLES = Path(__file__).parents[3] / "examples" / "kubernetes"
MANIFESTS = sorted(EXAMPLES.glob("*.yaml"))


def objects(path: Path) -> list[Any]:
    yaml: Any = pytest.importorskip("yaml")
    return list(yaml.safe_load_all(path.read_text("utf-8")))


def found(kind: str, name: str = "server.yaml") -> Any:
    (one,) = [one for one in objects(EXAMPLES / name) if one["kind"] == kind]
    return one


def container() -> Any:
    (one,) = found("Deployment")["spec"]["template"]["spec"]["containers"]
    return one


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_each_object_is_valid(path: Path) -> None:
    kubernetes: Any = pytest.importorskip("kubernetes_validate")
    for one in objects(path):
        kubernetes.validate(one, kubernetes.latest_version(), strict=True)


def test_a_member_that_kubernetes_does_not_have_is_found() -> None:
    kubernetes: Any = pytest.importorskip("kubernetes_validate")
    deployment = found("Deployment")
    deployment["spec"]["replica"] = 3
    with pytest.raises(kubernetes.ValidationError, match="replica"):
        kubernetes.validate(deployment, kubernetes.latest_version(), strict=True)


def test_there_are_manifests() -> None:
    assert [path.name for path in MANIFESTS] == ["redis.yaml", "server.yaml"]


def test_the_probes_ask_at_the_paths_of_the_health_checks() -> None:
    probes = {name: one for name, one in container().items() if name.endswith("Probe")}
    asked = {name: probe["httpGet"]["path"] for name, probe in probes.items()}
    live, ready = HEALTH_PATHS
    assert asked == {"startupProbe": live, "livenessProbe": live, "readinessProbe": ready}
    assert "--health" in container()["args"]


def test_every_option_of_the_container_is_one_of_the_command() -> None:
    group: Any = get_command(app)
    options = {option for one in group.commands["run"].params for option in one.opts}
    used = {word.partition("=")[0] for word in container()["args"]}
    used |= {word for word in (EXAMPLES / "Dockerfile").read_text().split('"') if word[:2] == "--"}
    assert used <= options


def test_a_pod_has_more_time_to_end_than_its_calls() -> None:
    spec = found("Deployment")["spec"]["template"]["spec"]
    drain = dict(word.partition("=")[::2] for word in container()["args"])
    assert (
        spec["terminationGracePeriodSeconds"] > int(drain["--drain"]) > int(drain["--drain-delay"])
    )


def test_the_password_of_redis_comes_from_a_secret() -> None:
    (variable,) = container()["env"]
    assert variable["name"] == "MCP_GEN_CLUSTER"
    assert variable["valueFrom"] == {"secretKeyRef": {"name": "mcp-redis", "key": "url"}}


def test_objects_find_each_other_by_their_labels_and_ports() -> None:
    labels = found("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert found("Deployment")["spec"]["selector"]["matchLabels"] == labels
    assert found("Service")["spec"]["selector"] == labels
    assert found("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    allowed = found("NetworkPolicy", "redis.yaml")["spec"]["ingress"][0]["from"]
    assert allowed == [{"podSelector": {"matchLabels": labels}}]
    (rule,) = found("Ingress")["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["backend"]["service"]["name"] == found("Service")["metadata"]["name"]


def test_redis_keeps_its_data_and_deletes_none() -> None:
    (redis,) = found("StatefulSet", "redis.yaml")["spec"]["template"]["spec"]["containers"]
    (command,) = redis["args"]
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command


async def test_the_server_of_the_image_counts_the_calls_of_a_session() -> None:
    server = load(str(EXAMPLES / "server.py"))
    speaker = Speaker(HANDSHAKE)
    async with surfing(server.asgi(), HANDSHAKE) as client:
        for number in (1, 2):
            reply = await client.ask(speaker.call(number, "count"))
            text = reply.json["result"]["content"][0]["text"]
            assert text.startswith(f"call {number}, answered by ")
