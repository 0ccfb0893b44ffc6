"""Agent Skills Discovery: the index at its well-known path, central's and a repository's, and what it names."""

import contextlib
import gzip
import hashlib
import http.client
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import httpx
import jsonschema
import pytest
from gitserver import GitRepo
from serving import AS_ADMIN, Registry, serving
from world import playbook

PAY = "github.com/acme/pay"
CENTRAL = "/.well-known/agent-skills/"
AT_PAY = f"/skills/r/{PAY}{CENTRAL}"
LOGS = "---\nname: attach-logs\ndescription: Attach the logs.\n---\nRun scripts/collect.sh.\n"
# The format, said in the words of the RFC.
SCHEMA = {
    "type": "object",
    "required": ["$schema", "skills"],
    "properties": {
        "$schema": {"const": "https://schemas.agentskills.io/discovery/0.2.0/schema.json"},
        "skills": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "type", "description", "url", "digest"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64},
                    "type": {"enum": ["skill-md", "archive"]},
                    "description": {"type": "string", "minLength": 1, "maxLength": 1024},
                    "url": {"type": "string", "minLength": 1},
                    "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
                },
            },
        },
    },
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder: Path = tmp_path_factory.mktemp("agent-skills")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit(
        {
            "skills/attach-logs/SKILL.md": LOGS,
            "skills/attach-logs/scripts/collect.sh": "#!/bin/sh\n",
            "playbooks/roll-back.yaml": playbook("roll-back", purpose="Roll back a bad release."),
            **{f"playbooks/{name}.yaml": playbook(name) for name in ("drain", "failover", "restore")},
        }
    )
    pay = GitRepo(folder / "git" / "acme" / "pay")
    pay.commit({"playbooks/roll-back.yaml": playbook("roll-back", version="2.0.0", purpose="Roll back pay.")})
    with serving(folder / "data", central_url=central.url, poll_interval_s=3_600) as found:
        found.register(PAY, pay.url)
        yield found


def index(registry: Registry, at: str) -> dict[str, dict]:
    answer = registry.get(f"{at}index.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    body = answer.json()
    jsonschema.validate(body, SCHEMA)
    return {skill["name"]: skill for skill in body["skills"]}


def artifact(registry: Registry, at: str, skill: dict) -> httpx.Response:
    """What a client gets for an entry: its URL is relative to the index's."""
    answer = registry.get(urljoin(f"{registry.client.base_url}{at}index.json", skill["url"]))
    assert answer.status_code == 200, answer.text
    return answer


def raw(registry: Registry, path: str) -> tuple[int, dict]:
    """(status, problem) of a path that is sent as it is: a usual client makes another one of its dots."""
    connection = http.client.HTTPConnection(registry.client.base_url.host, registry.client.base_url.port)
    with contextlib.closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.headers["content-type"] == "application/problem+json"
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("at", [CENTRAL, AT_PAY])
def test_every_artifact_is_what_its_digest_says(registry: Registry, at: str):
    for skill in index(registry, at).values():
        data = artifact(registry, at, skill).content
        assert skill["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_a_skill_of_one_file_is_that_file(registry: Registry):
    skill = index(registry, CENTRAL)["roll-back"]
    answer = artifact(registry, CENTRAL, skill)
    assert skill["type"] == "skill-md"
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text.startswith("---\nname: roll-back\n")


def test_a_skill_of_several_files_is_an_archive_of_them(registry: Registry):
    skill = index(registry, CENTRAL)["attach-logs"]
    answer = artifact(registry, CENTRAL, skill)
    assert (skill["type"], answer.headers["content-type"]) == ("archive", "application/zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "SKILL.md": LOGS.encode(),
            "scripts/collect.sh": b"#!/bin/sh\n",
        }


def test_its_skill_md_can_be_read_alone_as_well(registry: Registry):
    assert registry.get(f"{CENTRAL}attach-logs/SKILL.md").text == LOGS


def test_a_repository_has_the_copies_that_serve_there(registry: Registry):
    assert index(registry, AT_PAY)["roll-back"]["description"] == "Roll back pay."
    assert index(registry, CENTRAL)["roll-back"]["description"] == "Roll back a bad release."
    assert index(registry, AT_PAY).keys() == index(registry, CENTRAL).keys()


@pytest.mark.parametrize(
    "spelling", ["git@github.com:acme/pay.git", "https:%2F%2Fgithub.com%2Facme%2Fpay", "GitHub.com/Acme/Pay"]
)
def test_a_repository_is_named_in_any_spelling(registry: Registry, spelling: str):
    assert index(registry, f"/skills/r/{spelling}{CENTRAL}") == index(registry, AT_PAY)


def test_a_repository_that_is_not_registered_gets_centrals(registry: Registry):
    assert index(registry, f"/skills/r/github.com/acme/other{CENTRAL}") == index(registry, CENTRAL)


@pytest.mark.parametrize("file", ["index.json", "roll-back/SKILL.md", "attach-logs.zip"])
@pytest.mark.parametrize("at", [CENTRAL, AT_PAY])
def test_a_caller_who_has_it_is_not_sent_it_again(registry: Registry, at: str, file: str):
    answer = registry.get(at + file, headers={"accept-encoding": "identity"})
    again = registry.get(at + file, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert answer.headers["etag"] == f'"sha256:{hashlib.sha256(answer.content).hexdigest()}"'
    assert answer.headers["cache-control"] == "no-cache"


def test_a_coding_has_a_tag_of_its_own(registry: Registry):
    plain = registry.get(f"{CENTRAL}index.json", headers={"accept-encoding": "identity"})
    with registry.client.stream("GET", f"{CENTRAL}index.json", headers={"accept-encoding": "gzip"}) as coded:
        body = b"".join(coded.iter_raw())
    assert coded.headers["etag"] == plain.headers["etag"][:-1] + '+gzip"'
    assert gzip.decompress(body) == plain.content


@pytest.mark.parametrize("file", ["index.json", "roll-back/SKILL.md", "attach-logs.zip"])
def test_head_has_the_headers_alone(registry: Registry, file: str):
    plain = {"accept-encoding": "identity"}
    head, whole = (registry.client.request(method, CENTRAL + file, headers=plain) for method in ("HEAD", "GET"))
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))


@pytest.mark.parametrize(
    "file",
    [
        "",
        "index",
        "nothing/SKILL.md",
        "roll-back.zip",
        "roll-back/../attach-logs.zip",
        "attach-logs/scripts/collect.sh",
        "%2e%2e/SKILL.md",
        "roll-back/skill.md",
        ".zip",
        "/SKILL.md",
    ],
)
@pytest.mark.parametrize("at", [CENTRAL, AT_PAY])
def test_what_is_not_there_is_404(registry: Registry, at: str, file: str):
    status, problem = raw(registry, at + file)
    assert (status, problem["status"]) == (404, 404)


@pytest.mark.parametrize(
    "path", ["/skills", "/skills/r", "/skills/r/", f"/skills/r/{PAY}", f"/skills{CENTRAL}index.json"]
)
def test_other_paths_beside_it_are_404(registry: Registry, path: str):
    assert registry.get(path).status_code == 404


@pytest.mark.parametrize("name", ["a//b", "a.example/../b", "justahost"])
def test_what_is_no_repository_is_refused(registry: Registry, name: str):
    status, problem = raw(registry, f"/skills/r/{name}{CENTRAL}index.json")
    assert (status, problem["type"]) == (400, "/problems/repository-invalid")


@pytest.mark.parametrize("at", [CENTRAL, AT_PAY])
def test_it_is_for_reading_alone_and_takes_no_parameters(registry: Registry, at: str):
    assert registry.client.post(f"{at}index.json").status_code == 405
    assert registry.get(f"{at}index.json?repository=x").status_code == 400


def test_reading_needs_a_token_where_it_is_not_open(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    with serving(tmp_path / "data", central_url=central.url, anonymous_read=False) as registry:
        for at in (CENTRAL, AT_PAY):
            for file in ("index.json", "roll-back/SKILL.md"):
                assert registry.get(at + file).status_code == 401
                assert registry.get(at + file, headers={"authorization": "Bearer nonsense"}).status_code == 401
                assert registry.get(at + file, headers=AS_ADMIN).status_code == 200


def test_equal_files_make_equal_archives(registry: Registry):
    once, twice = (artifact(registry, CENTRAL, index(registry, CENTRAL)["attach-logs"]).content for _ in range(2))
    assert once == twice
    with zipfile.ZipFile(io.BytesIO(once)) as archive:
        assert {(entry.date_time, entry.compress_type) for entry in archive.infolist()} == {((1980, 1, 1, 0, 0, 0), 0)}
    assert json.loads(registry.get(f"{CENTRAL}index.json").content)["skills"][0]["url"] == "attach-logs.zip"
