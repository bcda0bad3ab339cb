"""Numbers that prove themselves, by a check digit or by what was never given out, whatever a column is called."""

from __future__ import annotations

from ipaddress import ip_address


def _digits(value: str) -> list[int]:
    return [int(c) for c in value if c.isdigit()]


def enough_digits(value: str) -> bool:
    """Phone numbers have 9 to 15 digits with the area code (ITU E.164), dates at most 8."""
    return 9 <= len(_digits(value)) <= 15


def ssn(value: str) -> bool:
    """The Social Security Administration never issued areas 000, 666 and 900-999, group 00, serial 0000."""
    area, group, serial = value.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def luhn(value: str) -> bool:
    """ISO/IEC 7812: every second digit from the right doubled, digits summed, divisible by 10."""
    digits = _digits(value)[::-1]
    return (sum(digits[::2]) + sum(sum(divmod(2 * d, 10)) for d in digits[1::2])) % 10 == 0


def gtin(value: str) -> bool:
    """GS1's article numbers (EAN, UPC): every second digit from the right tripled, digits summed, divisible by 10."""
    digits = _digits(value)[::-1]
    return (sum(digits[::2]) + 3 * sum(digits[1::2])) % 10 == 0


def iban(value: str) -> bool:
    """ISO 13616: country and check digits moved to the end, letters as 10 to 35, remainder 1 by 97."""
    text = value.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def nhs(value: str) -> bool:
    """Britain's NHS number: nine digits weighted 10 to 2, the tenth is 11 less the remainder by 11."""
    *digits, last = _digits(value)
    return (-sum(w * d for w, d in zip(range(10, 1, -1), digits, strict=True))) % 11 == last


def dea(value: str) -> bool:
    """American prescriber's number: digits 1, 3, 5 and twice 2, 4, 6 sum to a number ending in digit 7."""
    digits = _digits(value)
    return (sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def vin(value: str) -> bool:
    """ISO 3779, North America: the ninth character is the weighted sum's remainder by 11 (X is 10)."""
    worth = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    total = sum(w * worth.get(c, 0 if c.isalpha() else int(c, 36)) for w, c in zip(weights, value, strict=True))
    return value[8] == "0123456789X"[total % 11]


def nir(value: str) -> bool:
    """France's social security number: 13 digits and a key of 97 less their remainder by 97."""
    digits = "".join(map(str, _digits(value)))
    return int(digits[13:]) == 97 - int(digits[:13]) % 97


def dni(value: str) -> bool:
    """Spain's identity number: the remainder by 23 chooses the letter; a leading X, Y, Z is 0, 1, 2."""
    number = value[:-1].translate(str.maketrans("XYZ", "012"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == value[-1]


def ip(value: str) -> bool:
    """Whether the text is an IP address, of version 4 or 6."""
    try:
        ip_address(value)
    except ValueError:
        return False
    return True
