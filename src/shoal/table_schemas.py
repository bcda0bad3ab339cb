"""The JSON Schema of whatever a catalogue lists, as a policy file names it."""

from __future__ import annotations

from typing import Any

from pydantic import GetJsonSchemaHandler, TypeAdapter

from shoal.catalogue import Catalogue, Entry


def table_schemas(catalogue: Catalogue[Any], handler: GetJsonSchemaHandler) -> list[dict[str, Any]]:
    """Of each that the catalogue lists."""
    return [_table_schema(part, handler) for part in catalogue]


def _table_schema(part: type[Entry], handler: GetJsonSchemaHandler) -> dict[str, Any]:
    """The JSON Schema of a model's or method's table, which has its name."""
    schema = entry_schema(part, handler)
    schema["properties"] = {"name": {"const": part.name}} | schema["properties"]
    schema["required"] = ["name", *schema.get("required", [])]
    return schema


def entry_schema(part: type[Entry], handler: GetJsonSchemaHandler) -> dict[str, Any]:
    """The JSON Schema of a table of parameters, with their bounds and help."""
    schema = handler.resolve_ref_schema(handler(TypeAdapter(part).core_schema))
    for each in part.parameters():
        ends = {"minimum": each.least, "exclusiveMinimum": each.above, "maximum": each.most}
        bounds = {**ends, "exclusiveMaximum": each.below}
        stated = {word: end for word, end in bounds.items() if end is not None}
        schema["properties"][each.name] |= {"description": each.help, **stated}
    return schema | {"additionalProperties": False, "description": part.sentence()}
