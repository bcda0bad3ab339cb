"""A policy's text, changed where it has to say something else: all other lines, comments and order stay as they are."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from shoal.errors import extra_package

Content = dict[str, Any]


def edited(text: str, wanted: Mapping[str, Any]) -> str:
    """The text, changed so that it says what is wanted, and nothing else."""
    toml = extra_package("tomlkit", "The app", "ui")
    document = toml.parse(text)
    _bring(document, wanted, toml)
    changed: str = toml.dumps(document)
    assert tomllib.loads(changed) == dict(wanted)
    return changed


def _bring(table: Any, wanted: Mapping[str, Any], toml: Any) -> None:
    """Brings a table of the document to what is wanted, key by key."""
    for key in [key for key in table if key not in wanted]:
        del table[key]
    for key, value in wanted.items():
        there = table.get(key)
        if there is None:
            table[key] = _new(value, toml)
        elif isinstance(value, Mapping) and isinstance(there, dict):
            _bring(there, value, toml)
        elif isinstance(value, list) and isinstance(there, list):
            _bring_list(table, key, value, toml)
        elif toml.item(value).as_string() != toml.item(there).as_string() or type(value) is not type(_plain(there)):
            table[key] = _new(value, toml)


def _bring_list(table: Any, key: str, wanted: list[Any], toml: Any) -> None:
    """A list keeps the items that stay, with their remarks; of tables with headings each is brought to its own."""
    there = table[key]
    headed, tables = isinstance(there, toml.items.AoT), [isinstance(item, Mapping) for item in wanted]
    if _plain(there) == wanted:
        return
    if headed and wanted and all(tables):
        _bring_tables(there, wanted, toml)
    elif headed:
        del table[key]
        table[key] = _in_line(wanted, toml)
    elif any(tables) or any(isinstance(item, dict) for item in there):
        table[key] = _in_line(wanted, toml)
    else:
        _bring_items(there, wanted)


def _bring_tables(there: Any, wanted: list[Any], toml: Any) -> None:
    """Tables are known by their names: those that go take what is said beside them along."""
    names = [item.get("name") for item in wanted]
    for index in reversed(range(len(there))):
        earlier = [item.get("name") for item in there[:index]]
        if there[index].get("name") not in names or there[index].get("name") in earlier:
            del there[index]
    for index, item in enumerate(wanted):
        if index < len(there) and there[index].get("name") == item.get("name"):
            _bring(there[index], item, toml)
        else:
            there.insert(index, _new(item, toml))
    del there[len(wanted) :]


def _bring_items(there: Any, wanted: list[Any]) -> None:
    for index in reversed(range(len(there))):
        if _plain(there[index]) not in wanted:
            del there[index]
    if _plain(there) != wanted[: len(there)]:  # in another order
        del there[:]
    for item in wanted[len(there) :]:
        there.append(item)


def _in_line(wanted: list[Any], toml: Any) -> Any:
    """A list on a line of its own, its tables in braces: wherever it stands, it takes nothing that follows in."""
    array = toml.array()
    for item in wanted:
        if isinstance(item, Mapping):
            braces = toml.inline_table()
            braces.update(item)
            item = braces
        array.append(item)
    return array


def _new(value: Any, toml: Any) -> Any:
    """A value for a place where nothing was: tables in a list get a heading each."""
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        tables = toml.aot()
        for item in value:
            tables.append(toml.item(dict(item)))
        return tables
    return toml.item(value)


def _plain(value: Any) -> Any:
    """What it says, as Python has it."""
    return value.unwrap() if hasattr(value, "unwrap") else value
