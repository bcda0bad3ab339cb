"""Numbers that states give their people, each with the check that tells it from any other number."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from shoal.data.check_digits import dni, luhn, nhs, nir

_ODD = dict(
    zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (
        *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21), *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8),
        *(12, 14, 16, 10, 22, 25, 24, 23),
    ), strict=True)
)  # fmt: skip


def _digits(value: str) -> list[int]:
    return [int(c) for c in value if c.isdecimal()]


def _weighed(digits: list[int], weights: str) -> int:
    return sum(d * int(w) for d, w in zip(digits, weights, strict=False))


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def nino(value: str) -> bool:
    """Britain's National Insurance number: prefixes that were never given out."""
    return value[:2].upper() not in {"BG", "GB", "NK", "KN", "TN", "NT", "ZZ"}


def codice_fiscale(value: str) -> bool:
    """Italy's tax code: the last letter is the sum of the others by place, by 26."""
    text = value.upper()
    even = {c: int(c) if c.isdigit() else ord(c) - ord("A") for c in _ODD}
    total = sum((_ODD if place % 2 == 0 else even)[c] for place, c in enumerate(text[:15]))
    return chr(ord("A") + total % 26) == text[15]


def steuer_id(value: str) -> bool:
    """Germany's tax number: ISO 7064 MOD 11,10, and one digit of the first ten occurs twice or thrice."""
    digits = _digits(value)
    product = 10
    for digit in digits[:10]:
        product = (((digit + product) % 10 or 10) * 2) % 11
    repeats = sorted(digits[:10].count(d) for d in set(digits[:10]))
    return digits[0] != 0 and (11 - product) % 10 == digits[10] and repeats[-1] in (2, 3) and repeats.count(1) >= 7


def pesel(value: str) -> bool:
    """Poland's number: a date whose month tells the century, and a check digit."""
    digits = _digits(value)
    month = int(value[2:4])
    year = {0: 1900, 1: 2000, 2: 2100, 3: 2200, 4: 1800}[month // 20] + int(value[:2])
    return _is_date(year, month % 20, int(value[4:6])) and (10 - _weighed(digits, "1379137913") % 10) % 10 == digits[10]


def personnummer(value: str) -> bool:
    """Sweden's number: a date (of coordination numbers, the day and 60) and a Luhn check of the last ten digits."""
    digits = "".join(c for c in value if c.isdecimal())[-10:]
    return 1 <= int(digits[2:4]) <= 12 and 1 <= int(digits[4:6]) % 60 <= 31 and luhn(digits)


def cpr(value: str) -> bool:
    """Denmark's number begins with a date; since 2007 nothing else proves it."""
    return 1 <= int(value[:2]) <= 31 and 1 <= int(value[2:4]) <= 12


def fodselsnummer(value: str) -> bool:
    """Norway's number: two check digits, each by weights and 11."""
    digits = _digits(value)
    first = -_weighed(digits, "376189452") % 11
    second = -_weighed(digits, "5432765432") % 11
    return digits[9] == first and digits[10] == second


def hetu(value: str) -> bool:
    """Finland's code: the remainder of its nine digits by 31 chooses the last character."""
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(value[:6] + value[7:10]) % 31] == value[10].upper()


def belgian(value: str) -> bool:
    """Belgium's number: 97 less the remainder by 97 of nine digits, of those born since 2000 after a 2."""
    digits = "".join(c for c in value if c.isdecimal())
    return any(97 - int(f"{century}{digits[:9]}") % 97 == int(digits[9:]) for century in ("", "2"))


def ahv(value: str) -> bool:
    """Switzerland's number: a check digit as of an EAN."""
    digits = _digits(value)
    return (-_weighed(digits, "131313131313")) % 10 == digits[12]


def cpf(value: str) -> bool:
    """Brazil's number: two check digits, each by weights and 11."""
    digits = _digits(value)
    for length in (9, 10):
        total = sum(d * w for d, w in zip(digits[:length], range(length + 1, 1, -1), strict=True))
        if total * 10 % 11 % 10 != digits[length]:
            return False
    return len(set(digits)) > 1


def resident_id(value: str) -> bool:
    """China's number: a date, and ISO 7064 MOD 11-2."""
    if not _is_date(int(value[6:10]), int(value[10:12]), int(value[12:14])):
        return False
    total = sum(int(c) * pow(2, 17 - place, 11) for place, c in enumerate(value[:17]))
    return "10X98765432"[total % 11] == value[17].upper()


def bsn(value: str) -> bool:
    """The Netherlands' number: the test of eleven."""
    digits = _digits(value)
    return (_weighed(digits, "98765432") - digits[8]) % 11 == 0 and any(digits)


NATIONAL: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = tuple(
    (re.compile(rf"(?<![\w.])(?:{shape})(?![\w])", re.IGNORECASE), check)
    for shape, check in (
        (r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]", nino),
        (r"[A-Z]{6}\d{2}[ABCDEHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", codice_fiscale),
        (r"[12] ?\d{2} ?(?:0[1-9]|[1-9]\d) ?\d{2} ?\d{3} ?\d{3} ?\d{2}", nir),
        (r"[XYZ\d]\d{7}-?[A-HJ-NP-TV-Z]", lambda text: dni(text.replace("-", "").upper())),
        (r"\d{6}[-+A-FYXWVU]\d{3}[0-9A-FHJ-NPR-Y]", hetu),
        (r"756\.?\d{4}\.?\d{4}\.?\d{2}", ahv),
        (r"\d{3}\.\d{3}\.\d{3}-\d{2}", cpf),
        (r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}", belgian),
        (r"(?:\d{2})?\d{6}[-+]\d{4}", personnummer),
        (r"\d{6}-\d{4}", cpr),
        (r"\d{17}[\dX]", resident_id),
        (r"\d{11}", steuer_id),
        (r"\d{11}", pesel),
        (r"\d{6} ?\d{5}", fodselsnummer),
        (r"\d{11}", belgian),
        (r"\d{3}[ -]?\d{3}[ -]?\d{4}", nhs),
        (r"\d{9}", bsn),
    )
)
