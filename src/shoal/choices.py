"""Choices as people write them, with the parameters behind the word: `noise:gamma=0.3,whole=true`.

Options that hold several choices are read here too: `--read delimiter=tab,text=zip,id`, `--ledger l.db,key=l.key`.

Items are separated by commas; one that holds a comma or quotes is quoted as in CSV: `t-closeness:t=0.2,"attribute=age,
years"`. A parameter that has a value for each column is written with a dot: `recode:levels.age=2,levels.zip=1`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from shoal.catalogue import Catalogue, Entry, made
from shoal.errors import InputError, did_you_mean
from shoal.parameters import Parameter

EVERY = "*"  # stands for all columns: none has this name
Settings = TypeVar("Settings", bound=Entry)


def items_of(text: str) -> list[str]:
    """What stands between commas; an item with a comma is quoted as in CSV."""
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        raise InputError(f"{text!r} is not a list: quote what holds a comma as in CSV, '\"age, years\",sex'.") from None
    return [item.strip() for row in rows for item in row if item.strip()]


def chosen(text: str, catalogue: Catalogue[Any]) -> Any:
    """The method or model that the text names, with its parameters."""
    kind, parameters = read_choice(text, catalogue)
    return made(kind, parameters, catalogue.sort)


def read_choice(
    text: str, catalogue: Catalogue[Any], more: Sequence[Parameter] = ()
) -> tuple[type[Entry], dict[str, Any]]:
    """The class and the parameters that the text names; `more` are known beside the class's own."""
    word, listed = word_and_items(text, catalogue)
    kind: type[Entry] = catalogue.find(word)
    known = {each.name: each for each in (*kind.parameters(), *more)}
    parameters: dict[str, Any] = {}
    for item in items_of(listed):
        _put(item, known, parameters, f"The {catalogue.sort} {word!r}")
    return kind, parameters


def settings(items: Sequence[str], kind: type[Settings]) -> Settings:
    """The choices of an option that holds several, by name; its class has the option as its name.

    An item without `=` goes on with the list before it: `text=zip,id` are two columns.
    """
    known = {each.name: each for each in kind.parameters()}
    parameters: dict[str, Any] = {}
    last, key = None, ""
    for item in items:
        if last is not None and last.listed and "=" not in item and item.replace("-", "_") not in known:
            _put(f"{key}={item}", known, parameters, kind.name)
        else:
            last, key = _put(item, known, parameters, kind.name), item.rpartition("=")[0]
    return kind(**parameters)


def word_with_settings(text: str, kind: type[Settings]) -> tuple[str, Settings]:
    """`spark:master=local[2]`, `confidential:independent,merge`: the word and what is chosen of it."""
    word, _, listed = text.partition(":")
    return word.strip(), settings(items_of(listed), kind)


def word_and_items(text: str, catalogue: Catalogue[Any]) -> tuple[str, str]:
    """`swap:p=0.1` is swap and p=0.1; `module:Name:p=0.1` is one's own."""
    word, _, rest = text.strip().partition(":")
    if word not in catalogue and rest and "=" not in rest.partition(":")[0].partition(",")[0]:
        name, _, rest = rest.partition(":")
        word = f"{word}:{name}"
    return word, rest


def grouped_items(items: Sequence[str]) -> list[str]:
    """`mdav:k=5`, `swap:p=0.1`, `order=random`: an item that begins with KEY= goes on with the word before it."""
    texts: list[str] = []
    for item in items:
        if texts and re.match(r"[\w.\-]+=", item):
            texts[-1] += (":" if ":" not in texts[-1] else ",") + quoted_item(item)
        else:
            texts.append(_requoted(item))
    return texts


def _requoted(item: str) -> str:
    """A word and its first parameter, quoted again where that holds a comma."""
    word, colon, rest = item.partition(":")
    return f"{word}{colon}{quoted_item(rest)}"


def quoted_item(item: str) -> str:
    """As one item of a list: quoted as in CSV where it holds a comma or quotes."""
    return '"' + item.replace('"', '""') + '"' if "," in item or '"' in item else item


def _put(item: str, known: Mapping[str, Parameter], parameters: dict[str, Any], whose: str) -> Parameter:
    name, sign, value = item.partition("=")
    key, dot, column = name.partition(".")
    each = known.get(key.strip().replace("-", "_"))
    if each is None:
        words = [word.replace("_", "-") if whose.startswith("--") else word for word in known]
        hint = did_you_mean(key, words) or (f" It takes {', '.join(words)}." if words else " It takes none.")
        promised = " The class size is promised: --k." if key == "k" else hint
        raise InputError(f"{whose} has no parameter {key!r}.{promised}")
    if dot:
        column, _, value = item.partition(".")[2].rpartition("=")
        by_column = whose.startswith("--") or isinstance(parameters.get(each.name, {}), dict)
        if each.of_columns is None or not column or not by_column:
            raise InputError(f"{whose} has no {each.name} by column: {item!r} is not {each.name}=VALUE.")
        table = parameters.get(each.name, {})
        if isinstance(table, dict) and column in table and not each.listed:
            raise InputError(f"{whose} is given '{each.name}.{column}' twice: give it once.")
        _put_of_column(column, _as(each.of_columns, value), each, parameters)
        return each
    if whose.startswith("--") and isinstance(parameters.get(each.name), dict) and value.strip():
        _put_of_column(EVERY, value.strip(), each, parameters)
        return each
    if sign and not value.strip():
        raise InputError(
            f"{whose} is given {key!r} without a value: quote one with a comma as in CSV, '\"{key}=a,b\"'."
        )
    if each.listed:
        parameters[each.name] = (*parameters.get(each.name, ()), value.strip())
        return each
    if each.name in parameters:
        raise InputError(f"{whose} is given {each.name!r} twice: give it once.")
    if not sign and bool in each.alternatives:
        value = "true"
    elif not sign:
        raise InputError(f"{whose} is given {item!r}, which is not {each.name}=VALUE: give it so.")
    parameters[each.name] = _read(each, value.strip())
    return each


def _put_of_column(column: str, value: Any, each: Parameter, parameters: dict[str, Any]) -> None:
    """Puts the value into a table by column; what was given of all columns stands there under `*`."""
    table = parameters.get(each.name, {})
    table = parameters[each.name] = table if isinstance(table, dict) else {EVERY: table}
    table[column] = (*table.get(column, ()), value) if each.listed else value


def _read(each: Parameter, text: str) -> Any:
    """The value in the parameter's type; as text where it is none, for the check to say so."""
    if each.optional and text == "none":
        return None
    if not set(each.alternatives) & {int, float, bool, str} and not each.choices:
        shown = f"{each.name}.COLUMN=VALUE" if each.of_columns else f"a policy file ({each.name} = ...)"
        raise InputError(f"{each.name!r} is no single value: give it as {shown}.")
    for kind in each.alternatives:
        if (value := _as(kind, text)) is not text or kind is str:
            return value
    return text


def _as(kind: Any, text: str) -> Any:
    if kind is bool:
        return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    return text
