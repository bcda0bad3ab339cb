"""What identifies people in running text and has a form of its own: addresses of mail and web, numbers, dates, places.

A pattern finds candidates, a check digit tells most of them from other numbers (`shoal.data.check_digits`,
`shoal.data.national_numbers`). Names, streets and employers have no form: no pattern finds them, and nothing here says
that a text without patterns tells nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from shoal.data.check_digits import iban, ip, luhn, ssn
from shoal.data.national_numbers import NATIONAL

_MONTH = (
    r"(?:jan(?:uary|uar|vier|uari|\.)?|feb(?:ruary|ruar|ruari|\.)?|f[ée]v(?:rier|\.)?|mar(?:ch|s|zo|et|\.)?|m[äa]rz|maart"
    r"|apr(?:il|ile|\.)?|avr(?:il|\.)?|abr(?:il|\.)?|may|mai|mei|mayo|maggio|jun(?:e|i|io|\.)?|juin|giugno"
    r"|jul(?:y|i|io|\.)?|juil(?:let|\.)?|luglio|aug(?:ust|ustus|\.)?|ao[uû]t|ago(?:sto|\.)?"
    r"|sep(?:t|tember|tembre|tiembre|\.)?|sett(?:embre)?|o[ck]t(?:ober|obre|ubre|\.)?|ott(?:obre)?"
    r"|nov(?:ember|embre|iembre|\.)?|de[cz](?:ember|\.)?|d[ée]c(?:embre|\.)?|dic(?:embre|iembre|\.)?|ene(?:ro)?|gen(?:naio)?)"
)
_TIME = r"(?:[ T,]{1,2}(?:at )?\d{1,2}:\d{2}(?::\d{2})?(?:\.\d{1,6})?(?: ?[ap]\.?m\.?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_DAY, _NUMERAL, _YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"(?:1[89]|20)\d{2}"
_TOP = (
    "com|org|net|edu|gov|mil|info|io|co|eu|uk|de|fr|es|it|nl|be|ch|at|pl|pt|se|no|dk|fi|cz|ie|gr|us|ca|au|nz|jp|cn|br|mx"
    "|in|ru"
)
_DOMAIN = r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,6}"


class Span(NamedTuple):
    """Where something identifying stands in a text, and what it is."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Pattern:
    """Something with a form of its own: the label that takes its place, what it is, and how it is recognised."""

    label: str
    what: str
    form: re.Pattern[str]
    check: Callable[[str], bool] = bool
    digits: bool = True  # a text without digits cannot hold it
    groups: bool = False  # it is written in groups, of which the last may be a neighbour

    def spans(self, text: str) -> Iterator[Span]:
        """Wherever it stands in the text."""
        for match in self.form.finditer(text):
            held = match.group()
            while held and not self.check(held):  # a word or number behind it may have been taken for its last group
                held = held[: max(held.rfind(" "), held.rfind("-"), 0)] if self.groups else ""
            if held:
                yield Span(match.start(), match.start() + len(held), self.label)


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdecimal())


def _card(text: str) -> bool:
    number = _digits(text)
    return 12 <= len(number) <= 19 and len(set(number)) > 1 and luhn(number)


def _iban(text: str) -> bool:
    plain = re.sub(r"[ -]", "", text).upper()
    return 15 <= len(plain) <= 34 and iban(plain)


def _phone(text: str) -> bool:
    return 7 <= len(_digits(text)) <= 15


def _many_digits(text: str) -> bool:
    return len(_digits(text)) >= 7


def _form(*forms: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile("|".join(forms), flags)


PATTERNS = (
    Pattern(
        "EMAIL", "e-mail addresses",
        _form(
            rf"[\w.!#$%&'*+/=?^`{{|}}~-]{{1,64}}@{_DOMAIN}[^\W\d_]{{2,24}}",
            r"\b[\w.+-]{1,64} ?[\[(] ?at ?[\])] ?(?:[\w-]{1,63}(?:\.| ?[\[(] ?dot ?[\])] ?)){1,6}[^\W\d_]{2,24}\b",
        ),
        digits=False,
    ),
    Pattern(
        "URL", "web addresses",
        _form(
            r"\b(?:https?|ftp)://[^\s<>\"']{2,2000}", r"\bwww\.[^\s<>\"']{3,2000}",
            rf"(?<![\w@.]){_DOMAIN}(?:{_TOP})\b(?:/[^\s<>\"']{{0,2000}})?(?![\w@])",
        ),
        digits=False,
    ),
    Pattern(
        "IBAN", "bank accounts (IBAN)",
        _form(r"(?<!\w)[a-z]{2}\d{2}(?:[ -]?[a-z\d]{2,4}){3,9}[ -]?[a-z\d]{0,3}(?!\w)"),
        _iban, groups=True,
    ),
    Pattern("CARD", "payment cards", _form(r"(?<![\w.])\d(?:[ -]?\d){11,18}(?!\w)"), _card, groups=True),
    Pattern("SSN", "American social security numbers", _form(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"), ssn),
    Pattern(
        "IP", "network addresses",
        _form(
            r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w])(?!\.\d)",
            r"(?<![\w:])(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?![\w:])",
        ),
        ip,
    ),
    Pattern("IP", "network addresses", _form(r"(?<![\w:-])[\da-f]{2}(?:[:-][\da-f]{2}){5}(?![\w:-])")),
    Pattern(
        "PLACE", "coordinates",
        _form(
            r"(?<![\w.])[-+]?\d{1,2}\.\d{3,12}°? ?[ns]?[ ,;/]{1,3}[-+]?\d{1,3}\.\d{3,12}°?(?: ?[ewo]\b)?(?!\w)",
            r"\d{1,3} ?°(?: ?\d{1,2}(?:[.,]\d{1,8})? ?['′’])?(?: ?\d{1,2}(?:[.,]\d{1,8})? ?(?:\"|″|''))? ?[nsewo]\b",
        ),
    ),
    Pattern(
        "DATE", "dates",
        _form(
            rf"(?<![\w.-]){_YEAR}([-/.]){_NUMERAL}\1{_DAY}(?!\d){_TIME}",
            rf"(?<![\w.-]){_DAY}([-/.]) ?{_NUMERAL}\2 ?(?:{_YEAR}|\d{{2}})(?![\w-]){_TIME}",
            rf"(?<![\w.-]){_NUMERAL}([-/.]){_DAY}\3(?:{_YEAR}|\d{{2}})(?![\w-]){_TIME}",
            rf"(?<![\w.]){_DAY}\.{_NUMERAL}\.(?![\d])",
            rf"(?<!\w){_DAY}(?:st|nd|rd|th|er|\.|º)?[ -]+(?:of |de )?{_MONTH}"
            rf"(?:(?:,? (?:de |del )?|-){_YEAR}|['’ -]{{1,2}}\d{{2}})?(?!\w){_TIME}",
            rf"(?<!\w){_MONTH} {_DAY}(?:st|nd|rd|th)?(?:,? {_YEAR})?(?!\w){_TIME}",
            rf"(?<!\w){_MONTH},? (?:de )?{_YEAR}(?!\w)",
            rf"(?<!\w){_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:T?\d{{6}})?(?!\w)",
            r"(?<!\d)\d{4}年\d{1,2}月(?:\d{1,2}日)?",
        ),
    ),
    *(Pattern("NATIONAL_ID", "national numbers", form, check) for form, check in NATIONAL),
    Pattern(
        "PHONE", "phone numbers",
        _form(
            r"(?<![\w+])\+\d(?:[ ./()-]{0,3}\d){6,16}(?: ?(?:x|ext\.?) ?\d{1,6})?(?!\w)",
            r"(?<!\w)(?<!\d[.,])\(?00?\d{1,5}\)?(?:[ /.-]{0,3}\d){5,14}(?: ?(?:x|ext\.?) ?\d{1,6})?(?!\w)",
            r"(?<![\w(])(?<!\d[.,])\(\d{1,5}\)[ /.-]{0,2}\d(?:[ ./-]?\d){4,13}(?: ?(?:x|ext\.?) ?\d{1,6})?(?!\w)",
            r"(?<![\w-])(?<!\d[.,])\d{2,5}(?:[ .-]\d{2,5}){1,5}(?: ?(?:x|ext\.?) ?\d{1,6})?(?!\w)(?!-\d)",
        ),
        _phone,
    ),
    Pattern(
        "NUMBER", "long numbers",
        _form(r"(?<!\w)(?<!\d[.,])\d(?:[ -]?\d){6,30}(?!\w)", r"(?<!\w)[a-z]{1,4}[- ]?\d{6,18}(?!\w)"),
        _many_digits,
    ),
    Pattern(
        "NUMBER", "numbers after a word for them",
        _form(
            r"(?<=\bmrn)[ :#.]{1,3}\w?\d[\w-]{2,20}",
            r"(?<=\b(?:nhs|ssn|bsn|nif|dni|nir|cpf|nin|pin))[ :#.]{1,3}\w?\d[\w.-]{2,20}",
            r"(?<=passport)(?: (?:no|number|nr)\.?)?[ :#.]{1,3}[a-z]{0,3}\d[\w-]{3,20}",
            r"(?<=(?:licence|license))(?: (?:no|number|nr)\.?)?[ :#.]{1,3}[a-z]{0,3}\d[\w-]{3,20}",
        ),
    ),
)  # fmt: skip
_DIGIT = re.compile(r"\d")


def spans_of(text: str) -> list[Span]:
    """All that has a form, without overlaps: where two claim a place, the pattern that stands first above has it."""
    has_digits = _DIGIT.search(text) is not None
    taken, spans = bytearray(len(text)), []
    for pattern in PATTERNS:
        if pattern.digits and not has_digits:
            continue
        for span in pattern.spans(text):
            if 1 not in taken[span.start : span.end]:
                taken[span.start : span.end] = b"\1" * (span.end - span.start)
                spans.append(span)
    return sorted(spans)


def replaced(text: str, spans: list[Span]) -> str:
    """The text with each label in the place of what it stands for; overlapping spans become one, by the first."""
    parts, end = [], 0
    for span in merged(spans):
        parts += [text[end : span.start], f"<{span.label}>"]
        end = span.end
    return "".join([*parts, text[end:]])


def merged(spans: list[Span]) -> list[Span]:
    """Spans in their order, those that overlap as one that covers all of them."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, span.end))
        else:
            result.append(span)
    return result
