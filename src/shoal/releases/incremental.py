"""Incremental releases: a table with people added, removed or changed, safe together with all earlier ones.

The invariant is that every atom over all releases so far holds nobody or at least k. It is kept as follows.

- An atom of the earlier releases whose people are all still there is shown again as one class.
- Where some of it have left, they and those withheld beside them are at least k, or all of it is withheld: whoever is
  absent stands in an atom too, however coarse the new classes are.
- New people stand in classes of at least k new ones. One of them who joined a class shown before would be told apart
  from it by her absence then; fewer than k wait for the next release.
- Where a value changed of some of an atom and not of others, both are nobody or at least k, or are withheld: the old
  and the new values of fewer can be read off by comparing the releases. A record is never shown as it was.
- Classes that miss another model are merged whole.

Each new class, and the absent, thus meet each earlier atom in nobody or in at least k; the atoms of the longer pool are
just these meetings. And so that no later range narrows an earlier one, a class shows everything that was ever shown of
its people beside what they are now: a changed value is covered together with the old one.

Defined in docs/spec.md#incremental.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import WILDCARD, MaskedColumn, unescape
from shoal.data.microdata import Microdata, Whole, encode
from shoal.data.parse_cells import SHORTENED, label_rows, plain_truths, read_cells
from shoal.data.schema import Attribute, Kind
from shoal.data.short_sets import shortened_note
from shoal.errors import InputError, PromiseError
from shoal.masking.enforce import enforce
from shoal.masking.grouping.ordered import hilbert_order
from shoal.masking.method import Masked, Method, beyond_size, class_size
from shoal.masking.partition import ABSENT, Labels, Partition, divide, together
from shoal.masking.publishing.ancestor import publish_ancestor
from shoal.masking.publishing.range import publish_range
from shoal.privacy.model import PrivacyModel
from shoal.releases.atoms import Counts, Pool, may_stay
from shoal.releases.published import Published

NEW = -1  # in no earlier release


class Incremental(Method):
    """A grouping that goes on from earlier releases; `subjects` says whom each record of the table is about."""

    method: Method
    earlier: tuple[Published, ...] = field(repr=False)
    subjects: pl.Series = field(repr=False)
    values: pl.DataFrame = field(repr=False)  # what stands for each record's own values, as in `Published.values`

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Classes that go on from earlier releases, of those who may be shown again."""
        refuse_method(self.method)
        k = class_size(microdata, models)
        past = Past.of(self.earlier, self.subjects, self.values)
        kept = np.flatnonzero(past.stays(k))
        refuse_nobody(len(kept), len(microdata), k)
        left_out = np.delete(past.atom, kept)
        waiting = int((left_out == NEW).sum())
        again = replace(past, atom=past.atom[kept])
        masked = regroup(microdata.take(kept), again, self.method, models, suppression=suppression, seed=seed)
        records = kept if masked.kept is None else kept[masked.kept]
        return replace(
            masked,
            kept=None if len(records) == len(microdata) else records,
            notes=(*left_out_notes(waiting, len(left_out) - waiting, k), *masked.notes),
            facts={**masked.facts, "withheld": len(left_out)},
        )


def refuse_method(method: Method) -> None:
    """Refuses a method whose classes cannot cover what was shown before."""
    if method.shown_by != "range":
        raise InputError("An incremental release shows classes by ranges: take --method hilbert, kd or the like.")


def refuse_nobody(kept: int, records: int, k: int) -> None:
    """Refuses a release that would show nobody."""
    if not kept:
        raise PromiseError(
            f"Nobody of the {records:,} records can be shown without exposing somebody over all releases "
            f"at k = {k}: nothing was released. Wait for more people, or ask for a smaller k."
        )


def regroup(
    rest: Microdata,
    past: Past,
    method: Method,
    models: Sequence[PrivacyModel],
    *,
    suppression: float = 0.0,
    seed: int | None = None,
    all_new: Mapping[str, Whole] | None = None,
) -> Masked:
    """Those who may be shown: whoever stood together stands together again, new people among new ones.

    Where these are a chunk of a table, `all_new` is what all new people of the table say of each attribute.
    """
    k, others = class_size(rest, models), beyond_size(models)
    unit = past.atom.astype(np.int64)
    new = np.flatnonzero(unit == NEW)
    if len(new):
        newcomers = Microdata(rest.frame[new], rest.schema, all_new)
        partition = next(method.groupings(newcomers, k, others, seed))
        unit[new] = unit.max() + 1 + partition.class_of(len(new))
    partition = enforce(rest, _along_the_line(rest, unit), others, suppression, divisible=False)
    facts = {"classes_kept": len(np.unique(np.delete(unit, new))), "classes_new": len(np.unique(unit[new]))}
    return replace(_publish(rest, partition, past, method.longest_set), facts=facts)


@dataclass(frozen=True)
class Past:
    """What is known of the table's people from earlier releases."""

    atom: Labels  # record -> atom, NEW where she was in none
    change: Labels  # record -> those of an atom whose values changed alike have one number
    absent: Counts  # atom -> how many of it are not in the table
    shown: dict[str, pl.DataFrame]  # attribute -> what each atom was ever shown as: `atom`, `text`

    @classmethod
    def of(cls, earlier: Sequence[Published], subjects: pl.Series, values: pl.DataFrame) -> Past:
        """Of these people, by their digests and what stands for their values now."""
        if not earlier:
            none = np.full(len(subjects), NEW, np.int32)
            return cls(none, np.zeros_like(none), np.zeros(0, np.int64), {})
        members = pl.DataFrame({"subject": subjects, "class": np.arange(len(subjects), dtype=np.int32)})
        pool = Pool.of([*earlier, Published("now", members, pl.DataFrame(), values)])
        *labels, record = pool.labels
        seen = np.logical_or.reduce([label != ABSENT for label in labels])
        atom = np.full(len(record), NEW, np.int32)
        atom[seen] = together([*(label[seen] for label in labels), *(change[seen] for change in pool.changes[:-1])])
        there = record != ABSENT
        here, change = np.full(len(subjects), NEW, np.int32), np.zeros(len(subjects), np.int32)
        here[record[there]], change[record[there]] = atom[there], pool.changes[-1][there]
        absent = np.bincount(atom[seen & ~there], minlength=atom.max(initial=-1) + 1)
        return cls(here, change, absent, _ever_shown(earlier, labels, atom))

    def stays(self, k: int) -> npt.NDArray[np.bool_]:
        """Which records may be shown; of a group that must lose some, the first in the table stay."""
        new = self.atom == NEW
        atom = np.where(new, len(self.absent), self.atom).astype(np.int32)  # the new ones come last
        group = divide(atom, np.where(new, 0, self.change))
        _, first, present = np.unique(group, return_index=True, return_counts=True)
        stays = may_stay(np.append(self.absent, 0), atom[first], present, k)
        place = pl.DataFrame({"group": group}).select(pl.int_range(pl.len()).over("group")).to_series().to_numpy()
        return np.asarray(place < stays[group], np.bool_)


def _ever_shown(earlier: Sequence[Published], labels: Sequence[Labels], atom: Labels) -> dict[str, pl.DataFrame]:
    shown: dict[str, list[pl.DataFrame]] = {}
    for release, label in zip(earlier, labels, strict=True):
        there = label != ABSENT
        stood = pl.DataFrame({"atom": atom[there], "class": label[there]}).unique()
        for name in release.shown.columns:
            texts = stood.select("atom", text=release.shown[name].gather(stood["class"]))
            shown.setdefault(name, []).append(texts)
    return {name: pl.concat(texts).unique(maintain_order=True) for name, texts in shown.items()}


def staying(
    earlier: Sequence[Published], subjects: pl.Series, values: pl.DataFrame, k: int
) -> tuple[Labels, npt.NDArray[np.bool_]]:
    """The atom in which each of these people stood, NEW where she was in no release, and who may be shown again."""
    past = Past.of(earlier, subjects, values)
    return past.atom, past.stays(k)


def _along_the_line(rest: Microdata, unit: npt.NDArray[np.int64]) -> Partition:
    """The units as classes in the order of their first records on a Hilbert curve, so that neighbours are near."""
    order = hilbert_order(rest.rows())
    line = pl.DataFrame({"unit": unit[order]}).with_row_index()
    first = line.select(pl.col("index").min().over("unit")).to_series()
    rank = np.empty(len(unit), np.int64)
    rank[order] = first.rank("dense").to_numpy() - 1
    return Partition.of_labels(rank)


def _publish(rest: Microdata, partition: Partition, past: Past, longest: int) -> Masked:
    """Each class as the range of its values and of all that its people were ever shown as."""
    label = partition.class_of(len(rest))
    kept = np.flatnonzero(label >= 0)
    class_of_atom = np.full(len(past.absent), -1, np.int32)
    old = kept[past.atom[kept] != NEW]
    class_of_atom[past.atom[old]] = label[old]

    def show(name: str) -> MaskedColumn:
        attribute = rest.schema[name]
        column = rest.frame[name][kept]
        corners = pl.DataFrame({"class": pl.Series(dtype=pl.Int32), "value": column.clear()})
        if name in past.shown:
            texts = past.shown[name].with_columns(
                pl.Series("class", class_of_atom[past.shown[name]["atom"].to_numpy()])
            )
            corners = _corners(texts.filter(pl.col("class") >= 0), attribute, column)
        return _show(rest, attribute, column, label[kept], corners, longest)

    names = rest.schema.quasi_identifiers
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        columns = dict(zip(names, pool.map(show, names), strict=True))
    shorter = tuple(note for column in columns.values() for note in shortened_note(column, longest))
    return Masked(columns, None if len(kept) == len(rest) else kept, shorter)


def _show(
    rest: Microdata, attribute: Attribute, column: pl.Series, label: Labels, corners: pl.DataFrame, longest: int
) -> MaskedColumn:
    """Earlier ranges take part as records that stand at their corners; positions are those of the table's values."""
    values = pl.concat(
        [
            _comparable(column, corners["value"].dtype).alias("value").to_frame(),
            corners.select("value"),
        ],
        how="vertical_relaxed",
    ).to_series()
    coded = encode(values.alias(attribute.name), attribute)
    partition = Partition.of_labels(np.append(label, corners["class"].to_numpy()).astype(np.int64))
    if attribute.hierarchy is None:
        shown = publish_range(coded, partition, label, longest)
    else:
        shown = publish_ancestor(coded, partition, label)
    cells = read_cells(shown.text, attribute, rest[attribute.name].values)
    return replace(cells, index=cells.index[shown.index], runs=None, shortened=shown.shortened)


def _comparable(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    return column.cast(pl.String) if dtype == pl.String else column


def _corners(texts: pl.DataFrame, attribute: Attribute, column: pl.Series) -> pl.DataFrame:
    """`class`, `value`: values that span what the texts admit; a wildcard admits both a value and none.

    What stood for too long a set admits more than can be listed of today's values: it goes on as a wildcard.
    """
    if attribute.hierarchy is None and attribute.kind is Kind.NOMINAL:
        open_ended = texts["text"].str.contains(SHORTENED).fill_null(value=False)
        texts = texts.with_columns(texts["text"].set(open_ended, WILDCARD))
    text = pl.col("text")
    present = column.drop_nulls().head(1)
    stars = texts.filter(text == WILDCARD).select("class")
    absent = pl.concat([stars, texts.filter(text.is_null()).select("class")])
    masked = texts.filter(text != WILDCARD)
    if attribute.hierarchy is not None:
        spanned = _leaves(masked, attribute)
    elif attribute.kind in (Kind.NUMERIC, Kind.DATE):
        spanned = _ends(masked, attribute, column)
    else:
        spanned = _labels(masked, attribute, column)
    none = absent.with_columns(value=pl.lit(None, spanned["value"].dtype))
    some = stars.join(_comparable(present, spanned["value"].dtype).alias("value").to_frame(), how="cross")
    return pl.concat([spanned, none, some], how="vertical_relaxed")


def _ends(texts: pl.DataFrame, attribute: Attribute, column: pl.Series) -> pl.DataFrame:
    """Both ends of each range, in the column's own type."""
    values = encode(column, attribute).values
    cells = read_cells(texts["text"], attribute, values)
    assert cells.runs is not None
    first, last = cells.runs.starts[:-1][cells.index], cells.runs.starts[1:][cells.index] - 1
    ends = pl.Series("value", np.append(cells.runs.low[first], cells.runs.high[last]))
    ends = ends.cast(values.dtype) if values.dtype.is_temporal() else ends
    return pl.DataFrame({"class": pl.concat([texts["class"], texts["class"]]), "value": ends})


def _labels(texts: pl.DataFrame, attribute: Attribute, column: pl.Series) -> pl.DataFrame:
    """Every category that is named."""
    rows = label_rows(texts.select(pl.col("class").alias("cell"), "text").drop_nulls())
    ends = pl.concat([rows.select("cell", value="first"), rows.select("cell", value="last")])
    if column.dtype == pl.Boolean:
        ends = ends.with_columns(plain_truths(ends["value"]))
    named = ends.rename({"cell": "class"}).unique(maintain_order=True)
    if not (column.dtype.is_numeric() or isinstance(column.dtype, pl.Enum)):
        return named
    typed = named["value"].cast(column.dtype, strict=False)
    if typed.null_count() > named["value"].null_count():
        value = named["value"].filter(typed.is_null())[0]
        raise InputError(
            f"An earlier release showed {value!r} in {attribute.name!r}, which is no value of the type that the column "
            "has now: give it the type it had."
        )
    return named.with_columns(typed)


def _leaves(texts: pl.DataFrame, attribute: Attribute) -> pl.DataFrame:
    """The first and the last leaf below each node."""
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    texts = texts.with_columns(unescape(texts["text"]))
    nodes = texts["text"].unique(maintain_order=True).to_list()
    rows = []
    for node in nodes:
        leaves = hierarchy.leaves(node)
        if leaves is None:
            raise InputError(
                f"An earlier release showed {node!r} in {attribute.name!r}, which is no node of the hierarchy now: "
                "use the hierarchy of that release."
            )
        rows += [(node, hierarchy.leaf_values[int(leaf)]) for leaf in leaves[[0, -1]]]
    ends = pl.DataFrame(rows, schema={"text": pl.String, "value": pl.String}, orient="row")
    return texts.join(ends, on="text").select("class", "value")


# ---- what the custodian should know


def left_out_notes(waiting: int, withheld: int, k: int) -> tuple[str, ...]:
    """Why so many new records wait, and so many others are withheld."""
    notes = []
    if waiting:
        notes.append(f"{waiting:,} new records wait until there are {k} new ones: alone they could be told apart.")
    if withheld:
        notes.append(
            f"{withheld:,} records are withheld because others of their classes have left, or because values changed "
            f"of fewer than {k} of a class: shown, they would tell who left, or what changed."
        )
    return tuple(notes)
