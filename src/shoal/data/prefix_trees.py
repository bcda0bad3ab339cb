"""Trees of codes by their beginnings: postcodes, diagnoses (ICD), branches of trade (NACE), numbers of hospitals.

How to use it. `prefix_tree(values, name)` gives the tree of a column whose values are codes that nest, None of any
other; `prefixes(values, name)` gives it of whatever codes there are, and is what a policy asks for by
`hierarchy = {type = "prefix"}`. `values` may hold each code once or once a record, as text or as numbers.

    tree = prefix_tree(pl.Series([92056, 92057, 92103]), "patzip")
    tree.labels(1)   # 9205*, 9210*      tree.leaf_values, tree.ancestors, tree.leaves("9205*"): as of any Hierarchy

Leaves stand in the order of the codes, so that neighbours in the tree are neighbours on a line. How nodes are
labelled: where all codes are equally long, with one star for each character that is not shown (`921**`), otherwise
with dots for all that may follow, nothing included (`E11...` is E11, E11.9 and E11.65).
"""

from __future__ import annotations

import polars as pl

from shoal.data.code_signs import named_code
from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_levels import distinct, merging, refuse
from shoal.errors import InputError

LONGEST_CODE = 50  # characters; what is longer is text, not a code
FEWEST_CODES = 10  # distinct values before a tree of them says anything
SHORTEST_CODE = 3  # characters of the longest code: one or two digits are no address
NESTED = (
    r"^(?:\d+"  # 92103, 7011
    r"|[A-Za-z]{1,3}\d[0-9A-Za-z]*"  # V30, E1165, A10BA02, SW1A1AA
    r"|\d{1,5}[A-Za-z]{1,2}"  # 1012AB
    r"|[A-Za-z]{0,2}\d{1,5}[A-Za-z]?(?:[.\-/ ][0-9A-Za-z]{1,5}){1,2})$"  # E11.65, 01.11, SW1A 1AA, 1012 AB, 92103-1234
)
_DAY = r"^(?:\d{4}[.\-/ ]\d{1,2}[.\-/ ]\d{1,2}|\d{1,2}[.\-/ ]\d{1,2}[.\-/ ]\d{2,4})$"
MORE = "..."  # ends the label of a node whose codes are not equally long: a star stands for exactly one character
_EXACT = 1e15  # beyond, floats are no codes
_MARK = r"[.\-/ ]$"


def prefixes(values: pl.Series, attribute: str) -> Hierarchy:
    """Codes by their first characters, one less at each level: 92103, 9210*, 921**, ...; E11.65, E11.6..., E11..., ...

    Numbers are filled up with zeros to the longest (1234 beside 93722 is 01234). No level ends in a mark such as a
    point, and none that merges nothing is kept.
    """
    codes = _codes(values, attribute)
    longest = int(codes["code"].str.len_chars().max())  # type: ignore[arg-type]
    if longest > LONGEST_CODE:
        raise InputError(
            f"Column {attribute!r} holds a value of {longest} characters: only codes of up to {LONGEST_CODE} are "
            "put in a tree by their beginnings."
        )
    equally_long = codes["code"].str.len_chars().n_unique() == 1
    begin = _masked if equally_long else _begun
    levels = [
        (f"first {keep} of {longest} characters", begin(codes["code"], keep))
        for keep in range(longest - 1, 0, -1)
        if not _ends_in_mark(codes["code"], keep)
    ]
    return merging(codes["label"], levels, attribute)


def prefix_tree(values: pl.Series, attribute: str) -> Hierarchy | None:
    """The tree by beginnings, where the values are many codes that nest, as postcodes and diagnoses do; else None."""
    present = values.drop_nulls()
    if present.is_empty() or not _may_be_codes(present, attribute):
        return None
    codes = _codes(present, attribute)["code"]
    lengths = codes.str.len_chars()
    longest = int(lengths.max())  # type: ignore[arg-type]
    if len(codes) < FEWEST_CODES or not SHORTEST_CODE <= longest <= LONGEST_CODE:
        return None
    if not codes.str.contains(NESTED).all() or codes.str.contains(_DAY).all():
        return None
    tree = prefixes(present, attribute)
    return tree if tree.levels > 2 else None


def _may_be_codes(present: pl.Series, attribute: str) -> bool:
    """Texts, and numbers from 0 up: beside missing ones they often stand as floats (92103.0), and some have a point."""
    if present.dtype in (pl.String, pl.Categorical):
        return True
    if present.dtype.is_integer():
        return int(present.min()) >= 0  # type: ignore[arg-type]
    if not present.dtype.is_float() or not bool(present.is_between(0, _EXACT).all()):
        return False
    return bool((present == present.floor()).all()) or _has_points(attribute)


def _has_points(attribute: str) -> bool:
    named = named_code(attribute, LONGEST_CODE)
    return named is not None and named.points


def _codes(values: pl.Series, attribute: str) -> pl.DataFrame:
    """Each distinct value once, in the order of its code: `label` as it is printed, `code` as it is put in the tree."""
    listed = distinct(values, attribute)
    value, code = listed["value"], listed["label"]
    if value.dtype.is_float() and not bool((value == value.floor()).all()) and _has_points(attribute):
        code = _pointed(code)
    elif value.dtype.is_numeric():
        code = digits_of(listed, attribute, "have a beginning")
    return listed.with_columns(code=code).sort("code", "label")


def _pointed(numbers: pl.Series) -> pl.Series:
    """Numbers as codes with a point, filled up with zeros before it: 1.11 beside 46.3 is 01.11, and 46.0 is 46."""
    parts = numbers.str.split_exact(".", 1).struct
    before, after = parts.field("field_0"), parts.field("field_1").fill_null("0")
    width = int(before.str.len_chars().max())  # type: ignore[arg-type]
    return (
        before.str.zfill(width) + pl.select(pl.when(after == "0").then(pl.lit("")).otherwise("." + after)).to_series()
    )


def digits_of(listed: pl.DataFrame, attribute: str, can: str) -> pl.Series:
    """Numbers as digits, filled up with zeros to the longest; of more than 64 bits too. Refused where one has none."""
    value = listed["value"]
    whole = value.dtype.is_integer()
    usable = value >= 0 if whole else (value >= 0) & (value == value.floor()) & (value.cast(pl.Float64) < 2**63)
    refuse(~usable, listed, attribute, f"which is no code: only digits without a sign {can}")
    digits = (value if whole else value.cast(pl.Int64)).cast(pl.String)
    return digits.str.zfill(int(digits.str.len_chars().max()))  # type: ignore[arg-type]


def _ends_in_mark(codes: pl.Series, keep: int) -> bool:
    """Whether whatever is longer than this stops at a point, dash or blank, which tells nothing by itself."""
    longer = codes.filter(codes.str.len_chars() > keep).str.head(keep)
    return bool(longer.str.contains(_MARK).all())


def _masked(codes: pl.Series, keep: int) -> pl.Series:
    """The first characters of codes that are all equally long, a star for each of the others."""
    return codes.str.head(keep) + "*" * (len(codes[0]) - keep)


def _begun(codes: pl.Series, keep: int) -> pl.Series:
    """The first characters of codes of any length; a code that is shorter, or begins no other, stays as it is."""
    length, first = codes.str.len_chars(), codes.str.head(keep)
    frame = pl.DataFrame({"code": codes, "first": first, "length": length})
    alone = (pl.col("length") == keep) & (pl.len().over("first") == 1)
    stays = (pl.col("length") < keep) | alone
    return frame.select(pl.when(stays).then("code").otherwise(pl.col("first") + MORE)).to_series()
