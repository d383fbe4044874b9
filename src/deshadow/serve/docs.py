"""Makes the page `/api/docs` from the OpenAPI description, without scripts or files of other sites."""

import re
from html import escape
from typing import Any

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>deshadow: the API</title><link rel="stylesheet" href="/api/docs.css"></head><body>
"""
_EVERYWHERE = ("401", "403")
"""Errors that every address may answer with; the page leaves them out."""


def render_docs(description: dict[str, Any]) -> str:
    """An OpenAPI description as HTML."""
    about = f"<h1>The API</h1><p>{_text(description['info']['description'])}</p>"
    more = '<p>For programs: <a href="/api/openapi.json">/api/openapi.json</a></p>'
    sections = [
        _section(method, path, operation, description["components"]["schemas"])
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return "\n".join([_HEAD, about, more, *sections, "</body></html>"])


def _section(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    fields = "".join(_fields(kind["schema"], schemas) for kind in content.values())
    answers = "".join(
        f"<tr><th>{status}</th><td>{_meaning(found)}{_answer(found, schemas)}</td></tr>"
        for status, found in operation["responses"].items()
        if status not in _EVERYWHERE
    )
    return (
        f"<section><h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2>"
        f"<p>{_text(operation.get('description', ''))}</p>{fields}"
        f"<h3>Responses</h3><table>{answers}</table></section>"
    )


def _text(markdown: str) -> str:
    """Text with `code` as HTML."""
    return re.sub("`(.+?)`", r"<code>\1</code>", escape(markdown), flags=re.DOTALL)


def _meaning(found: dict[str, Any]) -> str:
    text = found["description"]
    return "" if text == "Successful Response" else _text(text)


def _answer(found: dict[str, Any], schemas: dict[str, Any]) -> str:
    """The fields of a JSON response, or the media types of another one."""
    if not found.get("content"):
        return ""
    name = found["content"].get("application/json", {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
    if not name:
        return f" <code>{escape(', '.join(found['content']))}</code>"
    return "" if name == "Error" else _fields({"$ref": name}, schemas)


def _fields(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    found = schemas[schema["$ref"].rpartition("/")[2]]
    required = found.get("required", [])
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_kind(field))}</td>"
        f"<td>{_text(field.get('description', ''))}{'' if name in required else _default(field)}</td></tr>"
        for name, field in found["properties"].items()
    )
    return f"<table>{rows}</table>"


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    return "" if value in (None, [], "") else f" Default: <code>{escape(str(value))}</code>"


def _kind(field: dict[str, Any]) -> str:
    """The type of a field in a few words."""
    if "enum" in field:
        return " | ".join(field["enum"])
    if "anyOf" in field:
        return " | ".join(_kind(each) for each in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if field.get("format") == "binary" or "contentMediaType" in field:
        return "file"
    kind = str(field.get("type", "any"))
    if kind == "array":
        inner = field.get("items") or {"type": "number"}
        return f"list of {_kind(inner)}"
    if "minimum" in field and "maximum" in field:
        return f"{kind}, {field['minimum']:.12g} to {field['maximum']:.12g}"
    return kind
