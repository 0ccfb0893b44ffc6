"""The published JSON Schemas, generated from the models.

The committed copies stand in `registry/playbook/schemas`, and a test holds them equal to what is generated.
`python -m registry.playbook.schema playbook.v1.json > registry/playbook/schemas/playbook.v1.json` writes one anew.
"""

import json
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, cast

from pydantic import BaseModel

from registry.digest import Json
from registry.playbook.document import NativeDocument
from registry.playbook.policy_document import PolicyDocument

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
PLAYBOOK_FILE: Final = "playbook.v1.json"
POLICY_FILE: Final = "policy.v1.json"


def playbook_schema() -> dict[str, Json]:
    """The JSON Schema of a native document in YAML or JSON (Markdown may leave out `steps`)."""
    return _schema_of(NativeDocument, PLAYBOOK_FILE, "Playbook, format version 1")


def policy_schema() -> dict[str, Json]:
    """The JSON Schema of the policy file."""
    return _schema_of(PolicyDocument, POLICY_FILE, "Playbook policy, format version 1")


def schema_text(schema: Mapping[str, Json]) -> str:
    """A schema as the committed file holds it: keys in the models' order, indented, one newline at the end."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


GENERATORS = MappingProxyType({PLAYBOOK_FILE: playbook_schema, POLICY_FILE: policy_schema})


def _schema_of(model: type[BaseModel], file_name: str, title: str) -> dict[str, Json]:
    generated = cast("dict[str, Json]", _tidied(model.model_json_schema(by_alias=True)))
    generated.pop("title", None)
    return {"$schema": DIALECT, "$id": f"/schemas/{file_name}", "title": title, **generated}


def _tidied(value: object, *, names_are_keys: bool = False) -> object:
    """Without the titles that only repeat a key, and without the stand-in for absent fields."""
    if isinstance(value, dict):
        drop = set() if names_are_keys else {"title", "default"}
        return {
            key: _tidied(
                each, names_are_keys=key in {"properties", "$defs", "patternProperties"} and not names_are_keys
            )
            for key, each in value.items()
            if key not in drop
        }
    if isinstance(value, list):
        return [_tidied(each) for each in value]
    return value


def main(arguments: list[str]) -> int:
    """Writes the schema of the file name in `arguments` to standard output; 2 for any other name."""
    generate = GENERATORS.get(arguments[0]) if len(arguments) == 1 else None
    if generate is None:
        sys.stderr.write(f"give one of {', '.join(GENERATORS)}\n")
        return 2
    sys.stdout.write(schema_text(generate()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
