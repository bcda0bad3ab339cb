"""The forms of a pseudonym: what stands for a value, by a secret key and a domain (docs/spec.md#pseudonyms).

A domain says what the value identifies (person, provider): the same number as patient and as doctor has pseudonyms that
are unlike, and so has the same patient for two recipients whose names are part of it. A form works on texts, each value
once; missing stays missing.
"""

from __future__ import annotations

import base64
import hmac
import string
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import polars as pl

from shoal.catalogue import Entry, first_sentence, made, parameter
from shoal.data.ff1 import FF1
from shoal.data.pseudonym_keys import Key
from shoal.errors import InputError, did_you_mean, extra_package

BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
DIGITS, LETTERS = string.digits, string.ascii_lowercase
LEAST_SPACE = 10**6  # texts of one length and alphabet: of fewer, all could be listed
_TEXTS = (pl.String, pl.Categorical, pl.Enum, pl.Date)


class Form(Entry, ABC):
    """How a pseudonym looks, and who can undo it."""

    stable: ClassVar[bool] = True  # the same in every table and release
    reversible: ClassVar[bool] = False  # by the key alone
    looks_alike: ClassVar[bool] = False  # pseudonyms may, by chance, be other people's values
    numbers: ClassVar[bool] = False  # whole numbers, not texts
    undone: ClassVar[str] = ""  # where the key alone does not: how

    @classmethod
    def abilities(cls) -> dict[str, Any]:
        """Whether it is stable and reversible."""
        return {"stable": cls.stable, "reversible": cls.reversible}

    @abstractmethod
    def made(self, values: Sequence[str], key: Key, domain: str) -> Sequence[str] | Sequence[int]:
        """The pseudonym of each value; the values are distinct."""

    def revealed(self, shown: Sequence[str], key: Key, domain: str) -> list[str]:
        """The value of each pseudonym."""
        raise InputError(f"A pseudonym of the form {self.name!r} is not undone by the key alone: {self.undone}.")

    @abstractmethod
    def fits(self, value: str, shown: str) -> bool:
        """Whether the pseudonym of the value may look so."""


class Code(Form):
    """Characters of a keyed digest, the same for a value in every table and release."""

    length: int = parameter("characters, 5 bits each", default=16, least=4, most=48)
    undone = "make pseudonyms of the identifiers that you have once more, and compare"

    def made(self, values: Sequence[str], key: Key, domain: str) -> list[str]:
        """The first characters of HMAC-SHA-256, in base32."""
        of = key.derived("pseudonym", domain)
        return [_base32(hmac.digest(of, value.encode(), "sha256"))[: self.length] for value in values]

    def fits(self, value: str, shown: str) -> bool:
        """So many characters of base32."""
        return len(shown) == self.length and not shown.strip(BASE32)


class Number(Form):
    """1, 2, ... in the order of a keyed digest: of this file alone, so that nothing joins it with another."""

    order: tuple[bytes, ...] = ()  # all digests of the file ascending, where only some records are at hand
    stable = False
    looks_alike = True
    numbers = True
    undone = "make them again of the original, with the same key: numbers belong to one file"

    def made(self, values: Sequence[str], key: Key, domain: str) -> list[int]:
        """The rank of each value's digest among all of them."""
        own = digests(values, key, domain)
        rank = {digest: number for number, digest in enumerate(self.order or sorted(own), 1)}
        return [rank[digest] for digest in own]

    def fits(self, value: str, shown: str) -> bool:
        """A whole number from 1 on."""
        return shown.isdigit() and shown.isascii() and int(shown) > 0


class Sealed(Form):
    """The value enciphered (AES-SIV, RFC 5297), which the key holder opens again; what was altered is noticed."""

    reversible = True

    def made(self, values: Sequence[str], key: Key, domain: str) -> list[str]:
        """The value sealed, in base32."""
        seal, associated = self._cipher(key, domain).encrypt, [domain.encode()]
        return [_base32(seal(value.encode(), associated)) for value in values]

    def revealed(self, shown: Sequence[str], key: Key, domain: str) -> list[str]:
        """What was sealed; refused where the seal is broken, or another key's or domain's."""
        unseal, associated = self._cipher(key, domain).decrypt, [domain.encode()]
        broken = extra_package("cryptography.exceptions", "The form 'sealed'", "pseudonyms").InvalidTag

        def opened(text: str, place: int) -> str:
            try:
                packed = base64.b32decode(text.upper() + "=" * (-len(text) % 8))
                if _base32(packed) != text:  # bits that base32 leaves over were altered
                    raise ValueError
                plain: bytes = unseal(packed, associated)
                return plain.decode()
            except (ValueError, broken):
                raise InputError(
                    f"The pseudonym {text!r} (value {place + 1:,}) cannot be opened: it was altered, or sealed with "
                    f"another key or in another domain than {domain!r}. Nothing was revealed."
                ) from None

        return [opened(text, place) for place, text in enumerate(shown)]

    def fits(self, value: str, shown: str) -> bool:
        """Base32 of the value's bytes and 16 more."""
        return len(shown) == -(-8 * (len(value.encode()) + 16) // 5) and not shown.strip(BASE32)

    def _cipher(self, key: Key, domain: str) -> Any:
        aead = extra_package("cryptography.hazmat.primitives.ciphers.aead", "The form 'sealed'", "pseudonyms")
        of = key.derived("reversible", domain)
        return aead.AESSIV(of + hmac.digest(of, b"2", "sha256"))


class Like(Form):
    """The value enciphered in its own length and alphabet (FF1), which the key holder deciphers again."""

    reversible = True
    looks_alike = True

    def made(self, values: Sequence[str], key: Key, domain: str) -> list[str]:
        """Digits as digits, and with lower-case letters among them as both; other characters stay in their places."""
        return self._each(values, key, domain, FF1.encrypt)

    def revealed(self, shown: Sequence[str], key: Key, domain: str) -> list[str]:
        """The values: any text of the right shape is the pseudonym of some value, with any key."""
        return self._each(shown, key, domain, FF1.decrypt)

    def fits(self, value: str, shown: str) -> bool:
        """As long, over the same alphabet, with the same other characters in the same places."""
        inner = alphabet(value)
        same = len(value) == len(shown) and alphabet(shown) == inner
        return same and all(a == b or (a in inner and b in inner) for a, b in zip(value, shown, strict=True))

    @staticmethod
    def _each(
        values: Sequence[str], key: Key, domain: str, step: Callable[[FF1, Sequence[int]], list[int]]
    ) -> list[str]:
        secret = key.derived("fpe", domain)[:16]
        ciphers = {inner: FF1(secret, domain.encode(), len(inner)) for inner in (DIGITS, DIGITS + LETTERS)}

        def exchanged(value: str) -> str:
            inner = alphabet(value)
            places = [place for place, character in enumerate(value) if character in inner]
            _refuse_small(value, len(inner), len(places))
            digits = [inner.index(value[place]) for place in places]
            digits = step(ciphers[inner], digits)
            # A value with letters stays one with letters: else one of digits alone could have the same pseudonym.
            while inner != DIGITS and max(digits) < len(DIGITS):
                digits = step(ciphers[inner], digits)
            characters = list(value)
            for place, digit in zip(places, digits, strict=True):
                characters[place] = inner[digit]
            return "".join(characters)

        return [exchanged(value) for value in values]


FORMS: dict[str, type[Form]] = {form.name: form for form in (Code, Number, Sealed, Like)}


def form_of(word: str, length: int | None = None) -> Form:
    """The form of that word; a length is that of codes."""
    if word not in FORMS:
        hint = did_you_mean(word, FORMS) or f" Known are {', '.join(FORMS)}."
        raise InputError(f"There is no form of pseudonyms {word!r}.{hint}")
    form: Form = made(FORMS[word], {} if length is None else {"length": length}, "form")
    return form


def sentences() -> dict[str, str]:
    """Form -> what it is, for people."""
    return {word: first_sentence(form.__doc__) for word, form in FORMS.items()}


def alphabet(value: str) -> str:
    """Of what the value's pseudonym is made: digits, or with a lower-case letter in it digits and these letters."""
    return DIGITS + LETTERS if any(character in LETTERS for character in value) else DIGITS


def _refuse_small(value: str, radix: int, length: int) -> None:
    if radix**length < LEAST_SPACE:
        of = "digits" if radix == len(DIGITS) else "digits and lower-case letters"
        raise InputError(
            f"The value {value!r} has {length} {of}, too few for the form 'like': all {radix**length:,} could be "
            f"tried, and there must be at least {LEAST_SPACE:,}. Choose 'code' or 'sealed'."
        )


def digests(values: Iterable[str], key: Key, domain: str) -> list[bytes]:
    """The whole keyed digest of each value, of which a code is the beginning."""
    of = key.derived("pseudonym", domain)
    return [hmac.digest(of, value.encode(), "sha256") for value in values]


def _base32(packed: bytes) -> str:
    return base64.b32encode(packed).decode().rstrip("=").lower()


# ---- columns


def texts_of(column: pl.Series) -> pl.Series:
    """The values as texts in Unicode's composed form; refused where a value has no text that is surely its own."""
    dtype = column.dtype
    if dtype.is_float() or dtype.is_decimal():
        raise InputError(
            f"Column {column.name!r} holds decimal numbers, and the pseudonym of 1 is not that of 1.0: turn it "
            "into whole numbers or texts first (of a text file: --read text=COLUMN)."
        )
    if not (dtype.is_integer() or dtype in _TEXTS or dtype == pl.Null):
        raise InputError(
            f"Column {column.name!r} holds {dtype}, which no pseudonym is made of: turn it into text first."
        )
    return column.cast(pl.String).str.normalize("NFC")


def pseudonyms_of(column: pl.Series, form: Form, key: Key, domain: str) -> pl.Series:
    """The column with each value replaced by its pseudonym; missing stays missing. Two values never share one."""
    texts = texts_of(column)
    values = texts.drop_nulls().unique(maintain_order=True)
    shown = pl.Series("", form.made(values.to_list(), key, domain), dtype=None if len(values) else pl.String)
    if shown.n_unique() < len(values):
        refuse_clash(column.name, form)
    return texts.replace_strict(values, shown, default=None, return_dtype=shown.dtype).alias(column.name)


def values_of(column: pl.Series, form: Form, key: Key, domain: str) -> pl.Series:
    """The column with each pseudonym replaced by the value that it stands for; missing stays missing."""
    texts = texts_of(column)
    shown = texts.drop_nulls().unique(maintain_order=True)
    values = pl.Series("", form.revealed(shown.to_list(), key, domain), dtype=pl.String)
    return texts.replace_strict(shown, values, default=None, return_dtype=pl.String).alias(column.name)


def pairs_of(column: pl.Series, form: Form, old: Key, new: Key, domain: str) -> pl.DataFrame:
    """`old` and `new`: each pseudonym with the one that another version of the key makes of the same value.

    The column shows pseudonyms where the key alone opens them, otherwise the identifiers themselves.
    """
    if not form.stable:
        raise InputError(
            f"Pseudonyms of the form {form.name!r} belong to one file, and no other release goes on with them."
        )
    texts = texts_of(column).drop_nulls().unique(maintain_order=True)
    if not form.reversible:
        _refuse_codes(texts, form)
    shown = texts if form.reversible else pseudonyms_of(texts, form, old, domain)
    values = values_of(texts, form, old, domain) if form.reversible else texts
    both = pl.DataFrame({"old": shown, "new": pseudonyms_of(values, form, new, domain)})
    return both.sort("old")  # the order of the file is that of its people


def _refuse_codes(texts: pl.Series, form: Form) -> None:
    """Pseudonyms of pseudonyms would join with nothing."""
    if len(texts) and all(form.fits("", text) for text in texts):
        raise InputError(
            f"Column {texts.name!r} shows pseudonyms of the form {form.name!r} already, which nobody opens: give the "
            "table that holds the identifiers."
        )


def refuse_clash(name: str, form: Form, where: str = "") -> None:
    """Two values have the same code: nobody is renumbered in silence."""
    length = getattr(form, "length", 0)
    raise InputError(
        f"Two values of {name!r} have the same pseudonym{where}: give codes of {length + 2} characters instead of "
        f"{length} (length={length + 2}). Nothing was released."
    )
