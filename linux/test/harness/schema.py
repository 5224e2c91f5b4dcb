# SPDX-License-Identifier: GPL-2.0-only
"""What `meshpace status --json` promises: docs/operate/status.schema.json."""

import json
from pathlib import Path
from typing import Any

import jsonschema

SCHEMA = Path(__file__).parents[3] / "docs" / "operate" / "status.schema.json"


def valid(status: dict[str, Any]) -> dict[str, Any]:
    """The status, which is as promised."""
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(status)
    return status
