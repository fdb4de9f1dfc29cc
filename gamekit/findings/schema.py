"""The JSON Schema of findings files, by which editors complete and check them."""

from __future__ import annotations

import json

from gamekit.findings.file import FindingsFile

SCHEMA_FILE = "findings.schema.json"


def json_schema() -> str:
    """The schema as the text of ``findings/findings.schema.json``: sorted, newline at the end."""
    schema = FindingsFile.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
