"""The files and the code that a policy names: which it may, and as seen from where."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InputError


def refuse_own_code(choices: Mapping[str, Any], what: str) -> None:
    """Choices that come from elsewhere are data: they can name nothing that would have to be imported."""
    _refuse_masker(choices, what)
    models, method = choices.get("models"), choices.get("method")
    tables = [table for table in (*(models if isinstance(models, list) else ()), method) if isinstance(table, dict)]
    for table in tables:
        for key, how in (("name", "--method or --promise MODULE:CLASS"), ("measure", "measure=MODULE:FUNCTION")):
            named = table.get(key)
            if isinstance(named, str) and ":" in named:
                sort = "measure" if key == "measure" else "method" if table is method else "model"
                raise InputError(
                    f"{what} names the {sort} {named!r}, which is code to be imported, and a file can only name "
                    f"built-in and installed ones: if you trust it, name it yourself ({how})."
                )


def _refuse_masker(choices: Mapping[str, Any], what: str) -> None:
    text = choices.get("text")
    if isinstance(text, dict) and text.get("masker") is not None:
        raise InputError(
            f"{what} names the masker of text {text['masker']!r}, which is code to be imported, and a file can name "
            "none: if you trust it, name it yourself (--mask-text COLUMN,masker=MODULE:FUNCTION)."
        )


def named_files(choices: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where the tables of a policy name a file: the table, and its key."""
    described, models = choices.get("attributes"), choices.get("models")
    tables = [(table, "hierarchy") for table in (described.values() if isinstance(described, dict) else ())]
    further = choices.get("tables")
    tables += [(table, "file") for table in (further.values() if isinstance(further, dict) else ())]
    for table, _ in list(tables):
        if isinstance(table, dict) and isinstance(own := table.get("attributes"), dict):
            tables += [(each, "hierarchy") for each in own.values()]
    tables += [(table, "population") for table in (models if isinstance(models, list) else ())]
    for table, key in tables:
        if isinstance(table, dict) and isinstance(table.get(key), str):
            yield table, key


def named_source(choices: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where a policy names the table of its project: the table, and its key."""
    project = choices.get("project")
    if isinstance(project, dict) and isinstance(project.get("source"), str):
        yield project, "source"


def beside(file: str, within: str | Path | None, policy: Path) -> str:
    """A file that a policy names, as seen from here; a database is reached from everywhere, but lies in no folder."""
    if "://" not in file:
        return str(inside(policy.parent / file, within, policy))
    if within is not None:
        raise InputError(
            f"The policy {str(policy)!r} names the table {file!r} of a database, which does not lie in "
            f"{str(within)!r}: name it yourself (--source), or put a copy of the table there."
        )
    return file


def inside(file: Path, within: str | Path | None, policy: Path, or_else: str = "") -> Path:
    """The file, links followed, if it lies in that folder; any file where there is none."""
    if within is None:
        return file
    real = Path(os.path.realpath(file))
    if not real.is_relative_to(os.path.realpath(within)):
        raise InputError(
            f"The policy {str(policy)!r} names the file {str(file)!r}, which does not lie in {str(within)!r}: "
            f"put it there{or_else}."
        )
    return real


def file_name(source: str | Path | None) -> str | None:
    """The name of a table's file; a database has none, and is named by what may be secret."""
    return None if source is None or "://" in str(source) else Path(source).name


def see_from(folder: str | Path | None, choices: Mapping[str, Any]) -> None:
    """Names all files of a policy as they are named from that folder, if there is one."""
    if folder is not None:
        for table, key in (*named_files(choices), *named_source(choices)):
            table[key] = seen_from(Path(folder), table[key])


def seen_from(folder: Path, file: str) -> str:
    """The file as it is named from that folder."""
    if "://" in file:
        return file
    path = Path(file)
    if path.is_relative_to(folder):
        return str(path.relative_to(folder))
    return file if path.is_absolute() else os.path.relpath(path, folder)
