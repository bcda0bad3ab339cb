"""What the reading worker tells of the table and of a policy: the table is read once, and stays open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events

if TYPE_CHECKING:
    import polars as pl

    from shoal.data.forms import Forms
    from shoal.jobs.layout import Layout
    from shoal.policy import Policy

POLICY = "shoal.toml"
FIRST = 8  # records that are shown first
SETS = 4  # attributes of a set that singles people out


@dataclass(frozen=True)
class _Opened:
    """A table that was read, and how."""

    asked: tuple[Any, ...]
    table: pl.DataFrame
    layout: Layout
    forms: Forms


_opened: list[_Opened] = []


def opened(source: str, read: Mapping[str, Any], stamp: str) -> _Opened:
    """The table, read again only if it is another, was changed, or is to be read in another way."""
    from shoal.jobs.layout import Layout

    asked = (source, repr(read), stamp, str(Path.cwd()))
    if not _opened or _opened[0].asked != asked:
        _opened.clear()
        events.stage("reading the table")
        layout = Layout.of(read)
        forms = layout.forms(lenient=True)
        _opened.append(_Opened(asked, layout.read(source, forms=forms), layout, forms))
    return _opened[0]


def look(source: str, read: Mapping[str, Any], stamp: str) -> dict[str, Any]:
    """The first records as they were read, and what was assumed to read them."""
    from shoal.data.files import is_delimited

    table = opened(source, read, stamp)
    settled = table.layout.settled(source).chosen()
    return {
        "records": table.table.height,
        "columns": [{"name": column.name, "type": str(column.dtype)} for column in table.table],
        "first": as_texts(table.table.head(FIRST)),
        "read": settled,
        "delimited": is_delimited(source),
        "assumed": [*table.layout.assumed(source), *table.forms.notes],
    }


def as_texts(table: pl.DataFrame) -> list[list[str | None]]:
    """The cells of a table as text."""
    import polars as pl

    return [list(row) for row in table.select(pl.all().cast(pl.String)).rows()]


def profile(source: str, read: Mapping[str, Any], stamp: str) -> dict[str, Any]:
    """What each column is, what singles people out, and the policy that is suggested."""
    from dataclasses import replace

    from shoal.profile import profile as profiled

    table = opened(source, read, stamp)
    events.stage("examining the columns")
    reading = table.forms.settled(table.layout.settled(source))
    seen = replace(profiled(table.table, sets=SETS), reading=reading)
    examples = {name: _examples(table.table[name]) for name in table.table.columns}
    stated = seen.to_dict()
    rows: Any = stated["attributes"]
    for each in rows:
        each["examples"] = examples[each["name"]]
    return stated | {"policy": seen.policy_toml()}


def _examples(column: pl.Series) -> list[str]:
    """A few values of a column, as they occur."""
    import polars as pl

    values = column.drop_nulls().head(200).unique(maintain_order=True).head(4)
    return [text[:40] for text in values.cast(pl.String, strict=False).drop_nulls()]


def singled(source: str, read: Mapping[str, Any], stamp: str, columns: Sequence[str]) -> dict[str, Any]:
    """How many records are the only ones with their values of these columns."""
    import polars as pl

    table = opened(source, read, stamp).table
    if not columns:
        return {"alone": 0, "records": table.height}
    sizes = table.lazy().group_by(list(columns)).agg(pl.len().alias("@size")).select("@size").collect()["@size"]
    return {"alone": int((sizes == 1).sum()), "records": table.height, "groups": len(sizes)}


def policy_of(text: str) -> Policy:
    """The policy that this text is, naming files of this folder alone and no code."""
    from shoal.policy import Policy

    return Policy.of_text(text, POLICY, within=Path.cwd(), own_code=False)


def judge(text: str, source: str | None, read: Mapping[str, Any], stamp: str) -> dict[str, Any]:
    """Refuses a text that is no policy, or none of this table."""
    policy = policy_of(text)
    if source is not None and _opened and _opened[0].asked[0] == source:
        policy.roles(opened(source, read, stamp).table.columns)
    return {}


def promises(text: str) -> dict[str, Any]:
    """What the policy promises, in words."""
    policy = policy_of(text)
    return {"words": [model.in_words for model in policy.models], "method": policy.method.name}


def catalogue() -> dict[str, Any]:
    """The methods, with when to choose each."""
    from shoal.masking import METHODS

    return {"methods": [method.listing() for method in METHODS]}
