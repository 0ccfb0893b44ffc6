"""The OpenAPI document, from the table of calls and the models of bodies."""

import re
from collections.abc import Iterable
from typing import Any

from registry.api.call import EVERY_CALL, Call, Parameter
from registry.api.calls import CALLS
from registry.api.kinds import KINDS

_IN_PATH = re.compile(r"\{(\w+)\}")
_PATH_MEANINGS = {
    "repository": "host/path, its slashes unescaped, or any spelling of the remote as one escaped segment.",
    "digest": "sha256:<64 hex>.",
    "name": "A playbook's name; it is folded as playbook names are.",
    "run_id": "The run's id, `run_` and 26 characters.",
    "token_id": "The token's id, not its value.",
    "file": "playbook.v1.json or policy.v1.json.",
    "code": "The code of a problem.",
}
_ETAG = "The digest, with the view or form and the content coding after plus signs."
_CATALOG_HEADERS = {
    "ETag": _ETAG,
    "Catalog-Digest": "The digest of the snapshot.",
    "Catalog-Commit": "The newest commit seen of the repository's own source.",
    "Catalog-Synced-At": "When what is in force was last confirmed or replaced.",
    "Catalog-State": "`fresh` or `stale`, `age=<seconds>`, and `unregistered` where the central snapshot stands in.",
}

Node = dict[str, Any]  # a piece of an OpenAPI document, which is JSON of any shape


def openapi_document(version: str) -> Node:
    """The document, OpenAPI 3.1; `version` is that of the software."""
    paths: dict[str, Node] = {}
    for call in CALLS:
        operations = paths.setdefault(call.path, {})
        operations[call.method.lower()] = _operation(call)
        if call.method == "GET":
            operations["head"] = {
                **_operation(call),
                "operationId": _identity(call, "head"),
                "summary": f"{call.summary} (headers only)",
            }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Playbook Registry",
            "version": version,
            "description": "Versioned playbooks from git, merged per repository and served as one immutable catalog.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _problem_schema(), **_body_schemas()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(call: Call) -> Node:
    operation: Node = {
        "operationId": _identity(call, call.method.lower()),
        "summary": call.summary,
        "tags": [call.group],
        "parameters": [*_path_parameters(call), *(_query(item) for item in call.parameters), *_header_parameters(call)],
        "responses": {**_answers(call), **_problems(call)},
    }
    if call.is_open:
        operation["security"] = []
    if call.body is not None:
        schema = {"$ref": f"#/components/schemas/{call.body.__name__}"}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def _identity(call: Call, method: str) -> str:
    words = re.sub(r"\W+", "-", call.path.removeprefix("/v1/").replace(".json", "")).strip("-")
    return f"{method}-{words}"


def _path_parameters(call: Call) -> Iterable[Node]:
    for name in _IN_PATH.findall(call.path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH_MEANINGS[name],
            "schema": {"type": "string", "minLength": 1},
        }


def _query(parameter: Parameter) -> Node:
    schema: Node = {"type": parameter.type}
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.meaning,
        "schema": {"type": "array", "items": schema} if parameter.repeats else schema,
    }


def _header_parameters(call: Call) -> Iterable[Node]:
    text = {"type": "string"}
    if call.waits:
        meaning = "`wait=<seconds up to 60>` waits until the outcome is published and searchable."
        yield {"name": "Prefer", "in": "header", "description": meaning, "schema": text}
    if call.repeats:
        meaning = "1 to 128 characters of the caller's own: the same request again under it opens nothing anew."
        yield {"name": "Idempotency-Key", "in": "header", "description": meaning, "schema": text}
    if call.conditional:
        meaning = "Any ETag of the representation, weak or strong: 304 where it still is the one."
        yield {"name": "If-None-Match", "in": "header", "description": meaning, "schema": text}


def _answers(call: Call) -> Node:
    answers: Node = {}
    for status, meaning in call.answers.items():
        answers[str(status)] = {"description": meaning}
        if status != 204:
            schema = {"type": "object"} if call.media_type.endswith("json") else {"type": "string"}
            others = {other: {"schema": {"type": "string"}} for other in call.other_media_types}
            answers[str(status)]["content"] = {call.media_type: {"schema": schema}, **others}
    if call.conditional:
        named = _CATALOG_HEADERS if call.path.startswith("/v1/catalogs") else {"ETag": _ETAG}
        headers = {name: {"description": meaning, "schema": {"type": "string"}} for name, meaning in named.items()}
        answers["200"]["headers"] = headers
        answers["304"] = {"description": "The caller has it already.", "headers": headers}
    return answers


def _problems(call: Call) -> Node:
    """One response a status, naming every code of it."""
    general = () if call.is_open else EVERY_CALL
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys((*general, *call.problems, *(("unavailable",) if call.path == "/readyz" else ()))):
        by_status.setdefault(KINDS[code].status, []).append(code)
    return {
        str(status): {
            "description": "; ".join(f"`{code}`: {KINDS[code].title}" for code in codes),
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, codes in sorted(by_status.items())
    }


def _problem_schema() -> Node:
    return {
        "type": "object",
        "description": "RFC 9457; further members depend on the type.",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "enum": [f"/problems/{code}" for code in KINDS]},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
        },
    }


def _body_schemas() -> Node:
    models = {call.body.__name__: call.body for call in CALLS if call.body is not None}
    schemas: Node = {}
    for name, model in sorted(models.items()):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        # What a body is made of stands beside it, where the references point.
        schemas |= {**schema.pop("$defs", {}), name: schema}
    return schemas
