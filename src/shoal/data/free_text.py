"""Free text: which columns hold it, what of it has a form, and how it is masked; never a promise.

A column is free text where most of its cells are runs of words and hardly any two are alike. What such cells tell of
people cannot be judged, so that they have no role by themselves and are released only where the policy says so
(docs/spec.md#free-text). Masking replaces what has a form (`shoal.data.text_patterns`) and every identifier of the
same record, whole words, without regard to case and accents: the record knows the patient's name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

import polars as pl

from shoal.data.text_patterns import PATTERNS, Span, merged, replaced, spans_of
from shoal.errors import InputError

SAMPLE = 1_000  # cells that are looked at
_WORDS = 4  # of letters, that a cell of free text has at least; categories are named in fewer
_SHARE = 0.5  # of the cells have so many, and of these so many are like no other
_WORD = r"\p{L}{2,}"
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]"  # written without blanks: so many signs are a word
_SIGNS = 3


def is_free_text(column: pl.Series) -> bool:
    """Whether most cells are runs of words, and most of those like no other, or say how to reach somebody.

    Judged by a sample of the records. A remark that was copied into many of them is one all the same.
    """
    if column.dtype != pl.String:
        return False
    cells = sampled(column)
    if cells.is_empty():
        return False
    words = cells.str.count_matches(_WORD) + cells.str.count_matches(_UNSPACED) // _SIGNS
    long = cells.filter(words >= _WORDS)
    if len(long) < _SHARE * len(cells):
        return False
    return long.n_unique() >= max(2, _SHARE * len(long)) or any(map(_reaches_somebody, long.unique().sort()))


def _reaches_somebody(text: str) -> bool:
    """Whether an address, an account or a number of somebody's stands in the text; a category may hold a date."""
    return any(span.label not in ("DATE", "URL", "NUMBER") for span in spans_of(text))


def sampled(column: pl.Series) -> pl.Series:
    """Cells that hold something, at most SAMPLE of them, spread evenly over the records."""
    held = column.drop_nulls()
    return held if len(held) <= SAMPLE else held.gather([i * len(held) // SAMPLE for i in range(SAMPLE)])


def patterns_in(column: pl.Series) -> dict[str, int]:
    """What has a form in a sample of the cells -> in how many of them it stands."""
    counts: dict[str, int] = {}
    what = {pattern.label: pattern.what for pattern in reversed(PATTERNS)}
    for cell in sampled(column.cast(pl.String)):
        for label in {span.label for span in spans_of(cell)}:
            counts[what[label]] = counts.get(what[label], 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


# ---- masking

_TOKEN = re.compile(r"[\w\u0300-\u036f]+")
_NUMBER = re.compile(r"(?<!\w)\d(?:[ ./-]?\d)+(?!\w)")
_BETWEEN = """
    de la le les da di du do dos das del della van von der den zu zum zur ter ten el al bin ibn ben abu af av of and und
    et the dr prof mr mrs ms herr frau sr sra san st y e
"""
_PARTICLES = frozenset(_BETWEEN.split())
_TRANSCRIBED = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("aa", "a"), ("ss", "s"))
_PARTS = 5  # words of a person's name; what has more is an address or a remark, sought as a whole


@lru_cache(maxsize=1 << 14)
def folded(word: str) -> str:
    """A word without case, accents and ways to write them: Müller, MUELLER and muller are one."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
    plain = plain.replace("ø", "o").replace("ł", "l").replace("đ", "d").replace("ı", "i").replace("æ", "ae")
    for written, meant in _TRANSCRIBED:
        plain = plain.replace(written, meant)
    return plain


@dataclass(frozen=True)
class Known:
    """What is looked for in the text of one record: words, runs of words, numbers, and signs without blanks."""

    words: frozenset[str]
    runs: frozenset[tuple[str, ...]]
    numbers: frozenset[str]
    signs: tuple[str, ...]

    @classmethod
    def of(cls, values: Sequence[str]) -> Known:
        """The identifiers of a record; of a name each of its words, but for particles such as `van` and `de`."""
        words: set[str] = set()
        runs: set[tuple[str, ...]] = set()
        numbers: set[str] = set()
        signs = []
        for value in values:
            tokens = tuple(folded(token) for token in _TOKEN.findall(value))
            digits = "".join(c for c in value if c.isdecimal())
            if not tokens:
                continue
            runs.add(tokens)
            if digits:
                numbers.add(digits.lstrip("0"))
            elif len(tokens) <= _PARTS:
                words |= {token for token in tokens if len(token) >= 2 and token not in _PARTICLES}
                words |= {folded(re.sub(r"\W", "", part)) for part in value.split()} - _PARTICLES
                runs |= {tokens[first:] for first in range(len(tokens) - 1)}  # a last name with its particles
            if _spoken_without_blanks(value):
                signs.append(value.strip())
        return cls(frozenset(w for w in words if len(w) >= 2), frozenset(runs), frozenset(numbers - {""}), tuple(signs))

    def spans(self, text: str) -> Iterator[Span]:
        """Where any of it stands in the text."""
        tokens = [(match.start(), match.end(), folded(match.group())) for match in _TOKEN.finditer(text)]
        for start, end, word in tokens:
            if word in self.words or (word.endswith("s") and len(word) > 4 and word[:-1] in self.words):
                yield Span(start, end, "NAME")
        for run in self.runs:
            label = "ID" if any(c.isdecimal() for word in run for c in word) else "NAME"
            for at in range(len(tokens) - len(run) + 1):
                if tokens[at][2] == run[0] and tuple(word for _, _, word in tokens[at : at + len(run)]) == run:
                    yield Span(tokens[at][0], tokens[at + len(run) - 1][1], label)
        if self.numbers:
            for match in _NUMBER.finditer(text):
                if "".join(c for c in match.group() if c.isdecimal()).lstrip("0") in self.numbers:
                    yield Span(match.start(), match.end(), "ID")
        for sign in self.signs:
            for match in re.finditer(re.escape(sign), text):
                yield Span(match.start(), match.end(), "NAME")


def _spoken_without_blanks(value: str) -> bool:
    return any("\u0e00" <= c <= "\u0e7f" or "\u3040" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7af" for c in value)


def mask_text(text: str, identifiers: Sequence[str] = ()) -> str:
    """The text with `<EMAIL>`, `<NAME>` and so on in the place of what has a form, and of its record's identifiers."""
    return replaced(text, merged([*Known.of(identifiers).spans(text), *spans_of(text)]))


Masker = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class MaskTexts:
    """Masks columns of free text, record by record, by patterns, by the record's identifiers, and by one's own code."""

    columns: tuple[str, ...]
    identifiers: tuple[str, ...]
    masker: str | None = None  # module:function

    def __call__(self, frame: pl.DataFrame, names: Mapping[str, str] | None = None) -> pl.DataFrame:
        """The frame with these columns masked; each is put under its name, and under the name that `names` has."""
        known = [frame[name].cast(pl.String).to_list() for name in self.identifiers if name in frame.columns]
        held = [[value for value in record if value] for record in zip(*known, strict=True)] if known else None
        anew = []
        for name in self.columns:
            cells = frame[name].cast(pl.String).to_list()
            record = held if held is not None else [[]] * len(cells)
            texts = [None if cell is None else mask_text(cell, own) for cell, own in zip(cells, record, strict=True)]
            column = pl.Series(name, self._by_own_code(texts), dtype=pl.String)
            anew += [column, *([column.alias(names[name])] if names and name in names else [])]
        return frame.with_columns(anew)

    def _by_own_code(self, texts: list[str | None]) -> list[str | None]:
        if self.masker is None:
            return texts
        there = [text for text in texts if text is not None]
        try:
            masked = masker_of(self.masker)(there)
        except InputError:
            raise
        except Exception as error:  # one's own code may raise anything
            raise InputError(
                f"The masker of text {self.masker!r} failed ({error}): correct it, or do without."
            ) from error
        if not isinstance(masked, list) or len(masked) != len(there) or not all(isinstance(t, str) for t in masked):
            raise InputError(
                f"The masker of text {self.masker!r} must give a list of as many texts as it is given, and gave "
                "something else."
            )
        following = iter(masked)
        return [None if text is None else next(following) for text in texts]


def masker_of(name: str) -> Masker:
    """One's own masker, named as `module:function`; imported only where its user trusts it."""
    module, _, function = name.partition(":")
    try:
        masker = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"The masker of text {name!r} cannot be used ({error}): name it as module:function, of a module that "
            "Python finds."
        ) from None
    return masker  # type: ignore[no-any-return]
