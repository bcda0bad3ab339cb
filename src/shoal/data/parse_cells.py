"""Released cells read back: the set of original values that each of them admits, whatever its notation.

The table of notations stands in `shoal.data.cells`. Every kind of attribute is read through rows (cell, first, last),
one row a stretch of values, its two ends still text; these become ascending runs of positions (`Runs`).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import ALL_BUT, WILDCARD, MaskedColumn, Runs, plain_text, unescape
from shoal.data.ordered_categories import refuse_range_without_order, refuse_without_order
from shoal.data.schema import Attribute, Kind
from shoal.data.spans import TO, span_ends
from shoal.data.text_types import FALSE, TRUE, as_dates
from shoal.errors import InputError

_IN_ORDER = r"^(?:\d{4}-\d\d-\d\d.*|\d\d:\d\d.*|(?i:true|false))$"  # texts that the alphabet puts in their own order
_SET = r"\{(?:\\.|[^\\])*\}$"  # that no backslash turns into a text
_PREFIX = r"(?s)^((?:\\.|[^\\*;{}\[\]])+)(\*+)$"
SHORTENED = rf"(?s)^{ALL_BUT}{_SET}|{_PREFIX.removeprefix('(?s)')}"  # what stands for a set too long to be read
_LABEL = r"((?:\\.|[^\\;])*)"  # up to the next semicolon that is not escaped


def read_cells(column: pl.Series, attribute: Attribute, values: pl.Series | None = None) -> MaskedColumn:
    """A released column as cells: plain values of any type, or text with masks.

    `values` are the attribute's distinct values in order; positions of categories are indices into them.
    Without them the hierarchy or declared domain stands in, and without these what the column itself shows.
    """
    index, shown = _dictionary(column)
    if attribute.kind in (Kind.NUMERIC, Kind.DATE):
        runs = _line_runs(shown, attribute, values)
    else:
        runs = _category_runs(shown, attribute, values)
    low, high, size = _summary(runs, attribute.kind)
    return MaskedColumn(attribute, index, shown.cast(pl.String), low, high, size, runs)


def exactly(column: MaskedColumn, values: pl.Series) -> MaskedColumn:
    """A masked column with exactly what each of its cells admits, among these values of the original."""
    if column.runs is not None:
        return column
    cells = read_cells(column.text, column.attribute, values)
    return replace(cells, index=cells.index[column.index])


def _dictionary(column: pl.Series) -> tuple[npt.NDArray[np.int32], pl.Series]:
    """Record -> cell and the distinct cells; missing, where it occurs, is the last cell."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if isinstance(column.dtype, pl.Categorical | pl.Enum | pl.Null):
        column = column.cast(pl.String)
    encoded = column.rechunk().to_arrow().dictionary_encode()
    shown = pl.Series(column.name, pl.from_arrow(encoded.dictionary), dtype=column.dtype)
    index = pl.Series(encoded.indices)  # whose own `to_numpy` would import pandas
    if column.null_count():
        return index.fill_null(len(shown)).to_numpy(), shown.extend_constant(None, 1)
    return index.to_numpy(), shown


def _summary(
    runs: Runs, kind: Kind
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Least and greatest position of each cell, and for nominal ones how many categories it admits."""
    low, high, size = np.full((3, len(runs.starts) - 1), np.nan)
    some = np.diff(runs.starts) > 0
    low[some] = runs.low[runs.starts[:-1][some]]
    high[some] = runs.high[runs.starts[1:][some] - 1]
    if kind is Kind.NOMINAL and some.any():
        size[some] = np.add.reduceat(runs.high - runs.low + 1, runs.starts[:-1][some])
    return low, high, size


def _node_rows(text: pl.Series, attribute: Attribute) -> pl.DataFrame:
    """The cells that show a node of the attribute's hierarchy, one row a leaf."""
    cells: list[int] = []
    names = [pl.Series(dtype=pl.String)]
    if attribute.hierarchy is not None:
        leaf_names = attribute.hierarchy.leaf_values.cast(pl.String)
        for cell, label in enumerate(unescape(text).to_list()):
            leaves = attribute.hierarchy.leaves(label) if label not in (None, WILDCARD) else None
            if leaves is not None:
                cells += [cell] * len(leaves)
                names.append(leaf_names.gather(leaves))
    leaf = pl.concat(names)
    return pl.DataFrame({"cell": pl.Series(cells, dtype=pl.UInt32), "first": leaf, "last": leaf})


def _cells_left(text: pl.Series, nodes: pl.DataFrame) -> pl.DataFrame:
    """The cells (cell, text) that are neither missing nor read already."""
    cells = pl.DataFrame({"text": text}).with_row_index("cell").drop_nulls()
    return cells.join(nodes, on="cell", how="anti") if nodes.height else cells


def _merge(rows: pl.DataFrame, text: pl.Series, discrete: bool) -> Runs:
    """Rows (cell, low, high) as ascending runs; stretches that touch become one."""
    rows = rows.sort("cell", "low")
    cell, low, high = (rows[name].to_numpy() for name in ("cell", "low", "high"))
    opens = np.ones(len(cell), np.bool_)
    apart = low[1:] > high[:-1]
    if discrete:
        apart &= low[1:] - apart.astype(low.dtype) > high[:-1]  # a step back from low never leaves 64 bits
    opens[1:] = (cell[1:] != cell[:-1]) | apart
    closes = np.append(opens[1:], True)[: len(cell)]
    starts = np.searchsorted(cell[opens], np.arange(len(text) + 1)).astype(np.int64)
    whole = (text == WILDCARD).fill_null(False).to_numpy()
    return Runs(starts, low[opens], high[closes], whole, discrete)


def _line_runs(shown: pl.Series, attribute: Attribute, values: pl.Series | None) -> Runs:
    """Cells on a line: ends as exact 64-bit numbers, open ends filled by the domain's."""
    text = shown.cast(pl.String)
    if shown.dtype == pl.String:
        nodes = _node_rows(text, attribute)
        rows = pl.concat([_line_rows(_cells_left(text, nodes)), nodes])
        ends = _parse(pl.concat([rows["first"], rows["last"]]), attribute, values)
        _check_parsed(rows, ends, text, attribute)
    else:
        rows = _cells_left(text, pl.DataFrame())
        point = _typed_points(shown.drop_nulls(), attribute, values)
        ends = pl.concat([point, point])
    whole_steps = ends.dtype.is_integer() or ends.dtype == pl.Date
    discrete = whole_steps and (values is None or values.dtype.is_integer() or values.dtype == pl.Date)
    least, greatest = _domain_ends(ends, attribute, values)
    ends = ends.to_physical()
    ends = ends.cast(pl.Int64) if ends.dtype == pl.Int32 else ends  # days
    low, high = ends[: rows.height].fill_null(least), ends[rows.height :].fill_null(greatest)
    if (low > high).any():
        raise _unreadable(text[rows["cell"].filter(low > high)[0]], attribute, "put the lesser end first")
    return _merge(pl.DataFrame({"cell": rows["cell"], "low": low, "high": high}), text, discrete)


def _line_rows(cells: pl.DataFrame) -> pl.DataFrame:
    """Rows (cell, first, last); a null end stands for the domain's."""
    text = pl.col("text")
    is_set = text.str.contains(r"^\{.*\}$")
    listed = cells.filter(is_set).with_columns(text.str.strip_chars("{}").str.split(";")).explode("text")
    cells = pl.concat([cells.filter(~is_set), listed]) if listed.height else cells
    ends = text.str.extract_groups(r"^\[([^;]*);([^;]*)\]$").struct
    whole, prefix, above = text == WILDCARD, text.str.contains(r"^\d+\*+$"), text.str.contains(r"^[^\[].*\+$")
    zeros, nines = (text.str.replace_all(WILDCARD, digit, literal=True) for digit in "09")
    least = pl.when(whole).then(None).when(prefix).then(zeros).when(above).then(text.str.head(-1)).otherwise(text)
    most = pl.when(whole | above).then(None).when(prefix).then(nines).otherwise(text)
    return cells.select(
        "cell",
        first=pl.coalesce(ends["1"], least).str.strip_chars(),
        last=pl.coalesce(ends["2"], most).str.strip_chars(),
    )


def _parse(text: pl.Series, attribute: Attribute, values: pl.Series | None) -> pl.Series:
    """Numbers, days or times; null where the text is none."""
    dtype = None if values is None else values.dtype
    if attribute.kind is Kind.DATE:
        return _parse_times(text, dtype)
    if dtype is None or dtype.is_integer():
        # The domain's own type first, or a wildcard would not reach to the end of an unsigned one.
        for exact in (pl.UInt64, pl.Int64) if dtype == pl.UInt64 else (pl.Int64, pl.UInt64):
            number = text.cast(exact, strict=False)
            if number.null_count() == text.null_count():
                return number
        if text.str.contains(r"^[+-]?\d+$").all():
            raise InputError(f"Column {attribute.name!r} holds whole numbers of more than 64 bits: declare it nominal.")
    number = text.cast(pl.Float32 if dtype == pl.Float32 else pl.Float64, strict=False).cast(pl.Float64)
    return number.set(~number.is_finite(), None)


def _parse_times(text: pl.Series, dtype: pl.DataType | None) -> pl.Series:
    if dtype == pl.Time:
        return text.str.to_time(strict=False)
    times = as_dates(text, dtype.time_unit if isinstance(dtype, pl.Datetime) else "us")
    return times.cast(dtype) if times.dtype == pl.Date and isinstance(dtype, pl.Datetime) else times


def _typed_points(point: pl.Series, attribute: Attribute, values: pl.Series | None) -> pl.Series:
    """Values that the file gave as numbers or times already."""
    if point.dtype.is_temporal():
        return point.cast(values.dtype) if values is not None and values.dtype.is_temporal() else point
    if not point.dtype.is_numeric():
        raise InputError(
            f"Column {attribute.name!r} is declared {attribute.kind} but holds {point.dtype}: "
            "correct the column, or declare it nominal or ordinal."
        )
    if point.dtype.is_integer():
        return point if point.dtype == pl.UInt64 else point.cast(pl.Int64)
    return point.cast(pl.Float64)


def _domain_ends(ends: pl.Series, attribute: Attribute, values: pl.Series | None) -> tuple[float, float]:
    """The physical ends of all that is known of the domain: declared, in the original, or shown here."""
    known = [ends]
    if values is not None:
        known.append(values)
    if attribute.domain:
        declared = pl.Series(list(attribute.domain), strict=False)
        known.append(_parse(declared, attribute, values) if declared.dtype == pl.String else declared)
    line = pl.concat([k.cast(ends.dtype, strict=False).to_physical() for k in known]).drop_nulls()
    return (line.min(), line.max()) if len(line) else (0, 0)  # type: ignore[return-value]


def _check_parsed(rows: pl.DataFrame, ends: pl.Series, text: pl.Series, attribute: Attribute) -> None:
    texts = pl.concat([rows["first"], rows["last"]])
    failed = (texts.is_not_null() & ends.is_null()).arg_true()
    if len(failed):
        cell = rows["cell"][int(failed[0]) % rows.height]
        raise _unreadable(text[cell], attribute, "correct it, or declare the column nominal")


def _unreadable(value: str, attribute: Attribute, remedy: str) -> InputError:
    return InputError(
        f"Column {attribute.name!r} holds {value!r}, which is neither a {attribute.kind} value nor a mask of "
        f"such values: {remedy}."
    )


def _category_runs(shown: pl.Series, attribute: Attribute, values: pl.Series | None) -> Runs:
    """Cells as indices into the ordered categories."""
    text = shown if shown.dtype == pl.String else plain_text(shown)
    nodes = _node_rows(text, attribute)
    cells = _cells_left(text, nodes).filter(pl.col("text") != WILDCARD)
    all_but = cells["text"].str.contains(rf"(?s)^{ALL_BUT}{_SET}")
    rows, left_out = label_rows(cells.filter(~all_but)), _left_out(cells.filter(all_but))
    if values is not None and values.dtype == pl.Boolean:
        rows = rows.with_columns(plain_truths(rows["first"]), plain_truths(rows["last"]))
    declared = _declared_labels(attribute, values)
    labels = _shown_labels(pl.concat([rows, left_out]), attribute) if declared is None else declared
    if attribute.kind is Kind.NOMINAL:
        _refuse_ranges(rows, attribute)
    rows = _with_spans(rows, labels) if attribute.kind is Kind.ORDINAL else rows
    rows = pl.concat(
        [
            rows.filter(pl.col("stars") == 0).drop("stars", "text"),
            nodes,
            _expand_prefixes(rows, labels),
            _of_nothing(left_out, labels),
        ]
    )
    labels = _with_unknown(labels, rows, attribute)
    low, high = (rows[end].cast(pl.Enum(labels)).to_physical().cast(pl.Int64) for end in ("first", "last"))
    if (low > high).any():
        raise _unreadable(text[rows["cell"].filter(low > high)[0]], attribute, "put the lesser end first")
    rows = pl.DataFrame({"cell": rows["cell"], "low": low, "high": high})
    whole = (text == WILDCARD).arg_true()
    everything = pl.DataFrame({"cell": whole, "low": 0, "high": max(len(labels) - 1, 0)}, schema=rows.schema)
    others = _others(left_out.join(rows, on="cell", how="anti"), labels).cast(rows.schema)
    return _merge(pl.concat([rows, everything, others]), text, discrete=True)


def _refuse_ranges(rows: pl.DataFrame, attribute: Attribute) -> None:
    """Refuses ranges of categories that have no order, but for texts that are in order by the alphabet."""
    ends = pl.concat([rows["first"], rows["last"]])
    ranges = rows.filter((pl.col("stars") == 0) & (pl.col("first") != pl.col("last")))
    if ranges.is_empty() or ends.str.contains(_IN_ORDER).all() or not ends.cast(pl.Float64, strict=False).null_count():
        return
    pairs = [*ranges.select("first", "last").unique(maintain_order=True).iter_rows()]
    refuse_range_without_order(attribute.name, ranges["text"][0], pairs, ends.unique())


def _with_spans(rows: pl.DataFrame, labels: pl.Series) -> pl.DataFrame:
    """Cells `low to high` of ordered categories as what they span; a text that is a category is just that."""
    place = {label: i for i, label in enumerate(labels)}
    whole = (rows["stars"] == 0) & (rows["first"] == unescape(rows["text"]))  # no part of a set or a range
    texts = [text for text in rows["first"].filter(whole).unique() if text not in place]
    ends = {text: both for text in texts if (both := span_ends(text, place)) is not None}
    low, high = ({text: both[i] for text, both in ends.items()} for i in (0, 1))
    return rows.with_columns(
        pl.when(whole).then(pl.col("first").replace(low)).otherwise("first").alias("first"),
        pl.when(whole).then(pl.col("last").replace(high)).otherwise("last").alias("last"),
    )


def _left_out(cells: pl.DataFrame) -> pl.DataFrame:
    """Of cells `all but {a;b}`, what `label_rows` makes of the sets, beside the cells' own texts."""
    sets = label_rows(cells.with_columns(pl.col("text").str.slice(len(ALL_BUT))))
    return sets.with_columns(pl.concat_str(pl.lit(ALL_BUT), "text").alias("text"))


def _of_nothing(left_out: pl.DataFrame, labels: pl.Series) -> pl.DataFrame:
    """Cells that leave out every label that is known: each stays as a label of its own."""
    known = left_out.filter(pl.col("first").is_in(labels.implode())).group_by("cell", "text").agg(pl.n_unique("first"))
    own = known.filter(pl.col("first") == labels.n_unique())
    return own.select("cell", first=unescape(own["text"]), last=unescape(own["text"]))


def _others(left_out: pl.DataFrame, labels: pl.Series) -> pl.DataFrame:
    """Rows (cell, low, high): the stretches between the labels that each cell leaves out."""
    place = left_out["first"].cast(pl.Enum(labels), strict=False).to_physical().cast(pl.Int64)
    gaps = left_out.select("cell", place=place).drop_nulls().unique()
    each = left_out.select("cell").unique()
    begins = pl.concat([each.with_columns(low=pl.lit(0, pl.Int64)), gaps.select("cell", low=pl.col("place") + 1)])
    ends = pl.concat(
        [gaps.select("cell", high=pl.col("place") - 1), each.with_columns(high=pl.lit(len(labels) - 1, pl.Int64))]
    )
    rows = begins.sort("cell", "low").with_columns(ends.sort("cell", "high")["high"])
    return rows.filter(pl.col("low") <= pl.col("high"))


def plain_truths(labels: pl.Series) -> pl.Series:
    """Truths in their plain form, however they are written."""
    return labels.replace([*TRUE, *FALSE], ["true"] * len(TRUE) + ["false"] * len(FALSE))


def label_rows(cells: pl.DataFrame) -> pl.DataFrame:
    """Rows (cell, text, first, last, stars): labels unescaped; with stars, `first` is only a beginning."""
    text = pl.col("text")
    is_set = text.str.contains(rf"(?s)^{_SET}")
    ends = text.str.extract_groups(rf"(?s)^\[{_LABEL};{_LABEL}\]$").struct
    prefix = text.str.extract_groups(_PREFIX).struct
    single = cells.filter(~is_set).select(
        "cell",
        "text",
        first=pl.coalesce(ends["1"], prefix["1"], text),
        last=pl.coalesce(ends["2"], prefix["1"], text),
        stars=prefix["2"].str.len_chars().fill_null(0),
    )
    listed = cells.filter(is_set)
    inside = _split_set(listed["text"].str.slice(1).str.head(-1))
    sets = listed.with_columns(first=inside).explode("first").with_columns(last="first", stars=pl.lit(0, pl.UInt32))
    rows = pl.concat([single, sets])
    return rows.with_columns(unescape(rows["first"]), unescape(rows["last"]))


def _split_set(inside: pl.Series) -> pl.Series:
    """The labels between semicolons that are not escaped."""
    if not inside.str.contains("\\", literal=True).any():
        return inside.str.split(";")
    label = re.compile(rf"(?s)(?:^|;){_LABEL}")
    return pl.Series([label.findall(text) for text in inside], dtype=pl.List(pl.String))


def _declared_labels(attribute: Attribute, values: pl.Series | None) -> pl.Series | None:
    if values is None and attribute.hierarchy is not None:
        values = attribute.hierarchy.leaf_values
    if values is not None:
        return values.cast(pl.String)
    return pl.Series([str(v) for v in attribute.domain]) if attribute.domain else None


def _shown_labels(rows: pl.DataFrame, attribute: Attribute) -> pl.Series:
    """All labels of the column, as numbers where all are numbers, otherwise alphabetically.

    That is an order of days, times and yes/no as well. A range of other texts, `[a;b]` or `a to b`, is refused:
    what it admits is not known.
    """
    whole = rows.filter(pl.col("stars") == 0)
    labels = pl.concat([whole["first"], whole["last"]]).unique()
    number = labels.cast(pl.Float64, strict=False)
    if number.null_count() == 0:
        return labels.gather(number.arg_sort())
    several = (whole["first"] != whole["last"]).any() or labels.str.contains(TO, literal=True).any()
    if attribute.kind is Kind.ORDINAL and several and not labels.str.contains(_IN_ORDER).all():
        refuse_without_order(labels.alias(attribute.name))
    return labels.sort()


def _expand_prefixes(rows: pl.DataFrame, labels: pl.Series) -> pl.DataFrame:
    """One row a label that begins so and is as long; a beginning of none stays as a label of its own."""
    prefixes = rows.filter(pl.col("stars") > 0).with_columns(length=pl.col("first").str.len_chars())
    known = pl.DataFrame({"label": labels, "size": labels.str.len_chars()})
    expanded = [prefixes.select("cell", "first", "last").clear()]
    for (length, stars), same in prefixes.group_by("length", "stars"):
        long = known.filter(pl.col("size") == length + stars).with_columns(first=pl.col("label").str.head(length))
        match = same.join(long, on="first", how="left")
        label = pl.coalesce("label", unescape(match["text"]).alias("own"))
        expanded.append(match.select("cell", first=label, last=label))
    return pl.concat(expanded)


def _with_unknown(labels: pl.Series, rows: pl.DataFrame, attribute: Attribute) -> pl.Series:
    """A label that the domain does not list comes after it; among ordered categories it has no place."""
    texts = pl.concat([rows["first"], rows["last"]])
    unknown = texts.filter(~texts.is_in(labels.implode())).unique().sort()
    if len(unknown) and attribute.kind is Kind.ORDINAL:
        raise InputError(
            f"Column {attribute.name!r} holds {unknown[0]!r}, which is not among its ordered categories: "
            "add it to the attribute's domain, or declare the column nominal."
        )
    return pl.concat([labels, unknown]) if len(unknown) else labels
