from pathlib import Path

from registry import errors
from registry.api.calls import CALLS
from registry.api.kinds import KINDS
from registry.api.openapi import openapi_document

DOCS = Path(__file__).resolve().parents[2] / "docs"

# http-api.md, Read and Write, without what this version does not have (?wait=, diff, evaluation, webhooks).
CONTRACT = """
GET /v1/catalogs/{repository}
GET /v1/snapshots/{digest}
GET /v1/documents/{digest}
GET /v1/playbooks/{name}
GET /v1/playbooks/{name}/explain
GET /v1/search
POST /v1/search
GET /v1/repositories
GET /v1/repositories/{repository}
GET /v1/repositories/{repository}/problems
GET /v1/policy
GET /v1/audit
GET /healthz
GET /readyz
GET /metrics
PUT /v1/repositories/{repository}
DELETE /v1/repositories/{repository}
POST /v1/repositories/{repository}/sync
POST /v1/repositories/{repository}/apply
PUT /v1/policy/required/{name}
DELETE /v1/policy/required/{name}
PUT /v1/policy/waivers/{name}
DELETE /v1/policy/waivers/{name}
PUT /v1/policy/withdrawn/{name}
DELETE /v1/policy/withdrawn/{name}
"""


def error_codes() -> set[str]:
    classes = [
        item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, errors.RegistryError)
    ]
    return {item.code for item in classes if isinstance(vars(item).get("code"), str)}


def test_every_call_of_the_contract_is_in_the_openapi_document() -> None:
    paths = openapi_document("1")["paths"]
    described = {f"{method.upper()} {path}" for path, item in paths.items() for method in item}
    assert set(CONTRACT.split("\n")) - {""} <= described


def test_operations_have_names_of_their_own() -> None:
    names = [
        operation["operationId"] for item in openapi_document("1")["paths"].values() for operation in item.values()
    ]
    assert len(names) == len(set(names))


def test_every_code_that_a_call_names_is_a_problem() -> None:
    assert {code for call in CALLS for code in call.problems} <= KINDS.keys()


def test_every_error_of_the_tree_has_a_status() -> None:
    of_kinds = {f"{kind}-unknown" for kind in ("playbook", "repository", "snapshot", "run", "route", "token")}
    assert error_codes() | of_kinds <= KINDS.keys()


def test_the_page_of_errors_says_what_the_table_says() -> None:
    page = " ".join((DOCS / "errors.md").read_text().split())
    for kind in KINDS.values():
        said = f"## `{kind.code}` Status {kind.status}. {kind.title}. {kind.meaning} What to do: {kind.remedy}"
        assert said in page


def test_the_page_of_errors_has_no_other_sections() -> None:
    headings = [line for line in (DOCS / "errors.md").read_text().splitlines() if line.startswith("## ")]
    assert headings == [f"## `{code}`" for code in KINDS]
