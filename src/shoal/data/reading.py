"""How a file is read, where that is not left to be found out: what `--read` and a policy's `[read]` say.

A key is a line of `Reading` and its type in `ReadingChoices`. The command line, policies with their schema, jobs and
Python have it from here; whatever reads files is handed the whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self, TypedDict

from shoal.catalogue import Entry, parameter
from shoal.choices import EVERY
from shoal.data.headings import FIRST_LINE
from shoal.errors import InputError, did_you_mean

PIVOT = 1930  # the first of the hundred years that two digits stand for
OF_VALUES = ("decimal", "date_format", "year_from", "missing")  # how values are written, in a release as in the file

IN_PARTS = ("text", *OF_VALUES)  # what is carried out where a text file is read part by part


class ReadingChoices(TypedDict, total=False):
    """The keys of `Reading`, as type checkers and editors know them."""

    delimiter: str | None
    encoding: str | None
    decimal: str | Mapping[str, str] | None
    text: list[str] | tuple[str, ...]
    date_format: str | Mapping[str, str] | None
    year_from: int
    missing: list[str] | tuple[str, ...] | Mapping[str, list[str] | tuple[str, ...]]
    names: str | None
    sheet: str | None


class Reading(Entry):
    """How text files are written, where that is not left to be found out.

    What may be said of one column is a value for all columns, or a table of values by column, `*` standing for all.
    """

    name: ClassVar[str] = "--read"

    delimiter: str | None = parameter("of a text file: one character, tab, space or comma", default=None)
    encoding: str | None = parameter("of a text file, such as latin-1; otherwise detected", default=None)
    decimal: str | dict[str, str] | None = parameter("the decimal mark; of one column decimal.COLUMN", default=None)
    text: tuple[str, ...] = parameter("columns to read as text", default=())
    date_format: str | dict[str, str] | None = parameter(
        "how dates are written where they do not show it, such as dd/mm/yyyy; of one column date-format.COLUMN",
        default=None,
    )
    year_from: int = parameter(
        "the first of the hundred years that two digits stand for", default=PIVOT, least=1, most=9900
    )
    missing: tuple[str, ...] | dict[str, tuple[str, ...]] = parameter(
        "words that say that nothing is known, such as -,n/a; of one column missing.COLUMN", default=()
    )
    names: str | None = parameter(
        "numbered: of columns that are called alike, age and age_2 are made; first-line: as they are, numbers too",
        default=None,
    )
    sheet: str | None = parameter("of a workbook: the sheet's name", default=None)

    @classmethod
    def of(cls, stated: Mapping[str, Any] | Reading | None) -> Self:
        """What a policy or a caller in Python states by key; keys with a hyphen may have an underscore."""
        if stated is None or isinstance(stated, Reading):
            return cls(**({} if stated is None else stated.chosen()))
        if not isinstance(stated, Mapping):
            raise InputError(f"How a file is read is a table of choices, such as delimiter. Got {stated!r} instead.")
        known = [each.name for each in cls.parameters()]
        choices: dict[str, Any] = {key.replace("-", "_"): value for key, value in stated.items()}
        for key in choices:
            if key not in known:
                hint = did_you_mean(key, known) or f" Known are {', '.join(known)}."
                raise InputError(f"The policy has no 'read.{key}'.{hint}")
        return cls(**{key: _in_tuples(value) for key, value in choices.items()})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(name, str) for name in self.text):
            raise InputError(f"Columns to read as text are a list of names. Got {self.text!r} instead.")
        for mark in _all_of(self.decimal):
            if mark not in (".", ","):
                raise InputError(f"A decimal mark is '.' or ','. Got {mark!r} instead.")
        for words in _all_of(self.missing or None):
            if not isinstance(words, tuple) or not all(isinstance(word, str) and word.strip() for word in words):
                raise InputError(f"Words that say that nothing is known are a list of texts. Got {words!r} instead.")
        for text in _all_of(self.date_format):
            for part in text.split("|"):
                order_of(part)
        if self.names not in (None, "numbered", FIRST_LINE):
            raise InputError(
                f"Names can be 'numbered', or be those of the 'first-line' as it is. Got {self.names!r} instead."
            )

    def of_column(self, key: str, column: str) -> Any:
        """What is stated of a column, or else of all; None where neither is."""
        stated = getattr(self, key)
        return stated.get(column, stated.get(EVERY)) if isinstance(stated, Mapping) else stated

    @property
    def every_decimal(self) -> str | None:
        """The decimal mark that is stated for all columns."""
        return str(mark) if (mark := self.of_column("decimal", EVERY)) else None

    def missing_words(self, column: str) -> tuple[str, ...]:
        """The words that say of this column that nothing is known."""
        if not isinstance(self.missing, Mapping):
            return self.missing
        return (*self.missing.get(EVERY, ()), *(self.missing.get(column, ()) if column != EVERY else ()))

    def with_columns(self, key: str, seen: Mapping[str, Any]) -> dict[str, Any]:
        """What is stated, by column, and what was seen of columns of which nothing is."""
        stated = getattr(self, key)
        by_column = stated if isinstance(stated, Mapping) else {} if stated is None else {EVERY: stated}
        return {**seen, **by_column}

    def refuse_unknown(self, columns: Collection[str], label: str) -> None:
        """Refuses what is stated of a column that the table does not have."""
        for key in OF_VALUES:
            stated = getattr(self, key)
            for name in stated if isinstance(stated, Mapping) else ():
                if name != EVERY and name not in columns:
                    hint = did_you_mean(name, list(columns))
                    raise InputError(
                        f"{label} has no column {name!r}, of which {key.replace('_', '-')} is stated.{hint}"
                    )

    def of_values(self, columns: Collection[str] | None = None) -> dict[str, Any]:
        """What is stated of how values and names are written, of these columns: it holds of what is released of them.

        Not so a decimal mark of the whole file, which belongs to its layout (`shoal.data.dialects`).
        """
        stated = {key: value for key, value in self.chosen().items() if key in OF_VALUES}
        if "decimal" in stated:
            marks = stated["decimal"] if isinstance(stated["decimal"], Mapping) else {}
            stated["decimal"] = {name: mark for name, mark in marks.items() if name != EVERY}
        known = columns if columns is None else {EVERY, *columns}
        tables = {
            key: {name: part for name, part in value.items() if known is None or name in known}
            for key, value in stated.items()
            if isinstance(value, Mapping)
        }
        names = {"names": self.names} if self.names == FIRST_LINE else {}
        return {key: value for key, value in (stated | tables | names).items() if value}

    @property
    def for_memory_alone(self) -> list[str]:
        """What is stated here that is not carried out where a text file is read part by part."""
        stated = self.chosen()
        return [key for key in stated if key not in IN_PARTS and not (key == "names" and stated[key] == FIRST_LINE)]

    @property
    def of_text_files(self) -> list[str]:
        """What is stated here that only a text file has."""
        keys = ("delimiter", "encoding")
        return [name.replace("_", "-") for name in keys if name in self.chosen()]

    def over(self, policy: Reading) -> Self:
        """Key by key what is stated here, and otherwise what the policy states."""
        return type(self)(**(policy.chosen() | self.chosen()))

    def with_text(self, names: tuple[str, ...]) -> Self:
        """The same, with these columns read as text as well."""
        return type(self)(**(self.chosen() | {"text": tuple(dict.fromkeys((*self.text, *names)))}))


def order_of(date_format: str) -> tuple[str, int, str]:
    """What parts the numbers of a date format, how many digits its year has, and the order: ymd, dmy or mdy.

    A format with the month's name shows its order itself: it has none.
    """
    day = re.split(r"(?:, | |T)(?=h)", date_format)[0]
    digits = 4 if "yyyy" in day else 2
    if "mmm" in day and "yy" in day and "d" in day:
        return "name", digits, ""
    match = re.fullmatch(r"(yyyy|yy|mm?|dd?)([./-]?)(yyyy|yy|mm?|dd?)\2(yyyy|yy|mm?|dd?)", day)
    order = "".join(part[0] for part in match.group(1, 3, 4)) if match else ""
    if match is None or sorted(order) != ["d", "m", "y"]:
        raise InputError(
            f"The date format {date_format!r} is none: write it with yyyy or yy, mm or m, dd or d and what parts them, "
            "such as dd/mm/yyyy or mm-dd-yy."
        )
    return match[2], digits, order


def _in_tuples(value: Any) -> Any:
    """Lists, also by column, as tuples."""
    if isinstance(value, Mapping):
        return {key: _in_tuples(part) for key, part in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _all_of(stated: Any) -> list[Any]:
    """What is stated for all columns or by column."""
    return [] if stated is None else list(stated.values()) if isinstance(stated, Mapping) else [stated]


NUMBER_THEM = ", or number them (--read names=numbered)"

AS_IT_SEEMS = Reading()  # all of it detected
