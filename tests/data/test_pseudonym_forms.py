"""Forms of pseudonyms: published vectors (NIST SP 800-38G, RFC 5297), the definition's own, and properties."""

import datetime as dt
import hashlib
import hmac

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.date_shift import shifted, shifts, shifts_of
from shoal.data.ff1 import FF1
from shoal.data.pseudonym_forms import FORMS, Code, Like, Number, Sealed, alphabet, form_of, pseudonyms_of
from shoal.data.pseudonym_keys import Key, Keys
from shoal.data.pseudonyms import pseudonyms
from shoal.errors import InputError

SECRET = bytes(range(32))
KEY = Key(1, SECRET)
CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
NIST = "2B7E151628AED2A6ABF7158809CF4F3C"


def test_key_of_a_purpose_and_domain() -> None:
    assert KEY.derived("pseudonym", "person").hex() == (
        "f24bbc1b01aa7ea37ffcabf53ab91edff6416672a3989ea75623a4f1dce53994"
    )


@pytest.mark.parametrize(
    ("value", "domain", "pseudonym"),
    [
        ("1", "person", "karfrbtnwaxwcjjl"),
        ("01", "person", "4eztoiwbtotnbsyh"),
        ("Ann", "person", "z4y67fuqu76vv7j4"),
        ("ann", "person", "jzxdc5xolxcohbpw"),
        ("Zoë", "person", "jm2xmhyx7x57oskg"),
        ("Zoe\u0308", "person", "jm2xmhyx7x57oskg"),  # composed first
        ("", "person", "rcsadgu4szeno6u6"),
        ("1", "provider", "jgwr7z6qcsudmt7w"),
    ],
)
def test_code(value: str, domain: str, pseudonym: str) -> None:
    assert pseudonyms_of(pl.Series([value]), Code(), KEY, domain).to_list() == [pseudonym]


def test_code_of_bytes_that_are_not_composed() -> None:
    assert Code().made(["Zoe\u0308"], KEY, "person") == ["hpxg4zjwljw4arai"]


@pytest.mark.parametrize(
    ("value", "sealed"), [("1", "547x4z2sqzukunne76tbsb6p36ia"), ("Ann", "iyqtgatph3jwkd2usdrsxamzowoo5iq")]
)
def test_sealed(value: str, sealed: str) -> None:
    assert Sealed().made([value], KEY, "person") == [sealed]
    assert Sealed().revealed([sealed], KEY, "person") == [value]


def test_aes_siv_is_that_of_rfc_5297() -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    key = bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    associated = bytes.fromhex("101112131415161718191a1b1c1d1e1f2021222324252627")
    cipher = AESSIV(key).encrypt(bytes.fromhex("112233445566778899aabbccddee"), [associated])
    assert cipher.hex() == "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c"


@pytest.mark.parametrize(
    ("tweak", "plain", "radix", "cipher"),
    [
        ("", "0123456789", 10, "2433477484"),
        ("39383736353433323130", "0123456789", 10, "6124200773"),
        ("3737373770717273373737", "0123456789abcdefghi", 36, "a9tv40mll9kdu509eum"),
    ],
)
def test_ff1_is_that_of_nist(tweak: str, plain: str, radix: int, cipher: str) -> None:
    ff1 = FF1(bytes.fromhex(NIST), bytes.fromhex(tweak), radix)
    digits = [CHARACTERS.index(character) for character in plain]
    assert "".join(CHARACTERS[digit] for digit in ff1.encrypt(digits)) == cipher
    assert ff1.decrypt(ff1.encrypt(digits)) == digits


@pytest.mark.parametrize(
    ("value", "pseudonym"), [("1234567", "3667045"), ("0000001", "8299531"), ("99887766554", "40351155120")]
)
def test_like(value: str, pseudonym: str) -> None:
    assert Like().made([value], KEY, "person") == [pseudonym]


def test_shifts() -> None:
    assert shifts(["1", "2", "3", "Ann"], KEY, "person") == [-145, -57, 13, 34]
    assert shifts(["1", "2", "3", "Ann"], KEY, "person", keep_weekday=True) == [-147, -56, 14, 35]


def test_the_two_older_forms_stay_as_they_are() -> None:
    assert pseudonyms(pl.Series(["Ann", "Bob", "Cy", "Dee", "Eve"]), SECRET).to_list() == [2, 1, 4, 5, 3]


def test_expected_clashes_are_those_of_the_table() -> None:
    for n, length, expected in [(10**6, 10, 0.00044408876576085277), (10**7, 16, 4.135902649174832e-11)]:
        assert n * (n - 1) / 2 ** (5 * length + 1) == pytest.approx(expected, rel=1e-12)


# ---- properties

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
numbers = st.from_regex(r"[0-9]{6,20}", fullmatch=True)
words = st.from_regex(r"[A-Z]{0,2}[0-9a-z]{4,12}-?[0-9]{2,3}", fullmatch=True)


@given(st.lists(texts, unique=True, max_size=20))
@settings(max_examples=2 * settings().max_examples)
def test_what_was_sealed_is_revealed(values: list[str]) -> None:
    sealed = Sealed().made(values, KEY, "person")
    assert Sealed().revealed(sealed, KEY, "person") == values
    assert all(Sealed().fits(value, shown) for value, shown in zip(values, sealed, strict=True))


@given(st.lists(numbers | words, unique=True, max_size=20))
@settings(max_examples=2 * settings().max_examples)
def test_like_keeps_length_and_alphabet_and_is_undone(values: list[str]) -> None:
    shown = Like().made(values, KEY, "person")
    assert Like().revealed(shown, KEY, "person") == values
    assert len(set(shown)) == len(values)
    for value, pseudonym in zip(values, shown, strict=True):
        assert len(value) == len(pseudonym)
        assert alphabet(value) == alphabet(pseudonym)
        assert Like().fits(value, pseudonym)


def test_like_is_one_to_one_on_a_part_of_a_million() -> None:
    values = [f"{number:06d}" for number in range(0, 10**6, 200)]
    shown = Like().made(values, KEY, "person")
    assert len(set(shown)) == len(values)
    assert {len(text) for text in shown} == {6}
    assert "".join(shown).isdigit()


@pytest.mark.slow
def test_like_is_one_to_one_on_all_of_a_million() -> None:
    values = [f"{number:06d}" for number in range(10**6)]
    shown = Like().made(values, KEY, "person")
    assert sorted(shown) == values  # a permutation of all of them
    assert Like().revealed(shown[::1000], KEY, "person") == values[::1000]


def test_numbers_are_a_permutation_by_the_key() -> None:
    values = [str(number) for number in range(1000)]
    numbers = Number().made(values, KEY, "person")
    assert sorted(numbers) == list(range(1, 1001))
    assert numbers != Number().made(values, Key(1, bytes(32)), "person")
    assert numbers != Number().made(values, KEY, "provider")


@pytest.mark.parametrize("form", FORMS)
def test_missing_stays_missing_and_equal_values_stay_equal(form: str) -> None:
    column = pl.Series("id", [1234567, None, 7654321, 1234567])
    shown = pseudonyms_of(column, form_of(form), KEY, "person")
    assert shown.name == "id"
    assert shown.is_null().to_list() == [False, True, False, False]
    assert shown[0] == shown[3] != shown[2]


@pytest.mark.parametrize("form", FORMS)
def test_all_missing_is_still_a_column(form: str) -> None:
    shown = pseudonyms_of(pl.Series("id", [None, None], dtype=pl.String), form_of(form), KEY, "person")
    assert shown.to_list() == [None, None]


# ---- refused


def test_decimal_numbers_are_refused() -> None:
    with pytest.raises(InputError, match=r"'id' holds decimal numbers.*1 is not that of 1\.0"):
        pseudonyms_of(pl.Series("id", [1.0]), Code(), KEY, "person")


def test_two_values_with_one_code_are_refused_with_two_characters_more() -> None:
    column = pl.Series("id", range(5000))
    with pytest.raises(InputError, match=r"same pseudonym: give codes of 6 characters instead of 4 \(length=6\)"):
        pseudonyms_of(column, Code(length=4), KEY, "person")


def test_a_value_of_few_digits_is_refused_for_like() -> None:
    with pytest.raises(InputError, match=r"'12345' has 5 digits, too few for the form 'like'"):
        Like().made(["12345"], KEY, "person")
    assert Like().made(["a234"], KEY, "person")  # 36^4


def test_a_sealed_code_that_was_altered_is_refused() -> None:
    [sealed] = Sealed().made(["Ann"], KEY, "person")
    altered = ("a" if sealed[0] != "a" else "b") + sealed[1:]
    for text, key, domain in [
        (altered, KEY, "person"),
        (sealed[:-1], KEY, "person"),
        (sealed, Key(1, bytes(32)), "person"),
        (sealed, KEY, "provider"),
        ("not base32!", KEY, "person"),
        (sealed[:-1] + "r", KEY, "person"),  # q and r differ in bits that are left over
    ]:
        with pytest.raises(InputError, match="it was altered, or sealed with another key"):
            Sealed().revealed([text], key, domain)


def test_codes_and_numbers_are_not_revealed() -> None:
    for form in (Code(), Number()):
        with pytest.raises(InputError, match="not undone by the key alone"):
            form.revealed(["x"], KEY, "person")


def test_a_length_is_of_codes_alone() -> None:
    with pytest.raises(InputError, match="The form 'sealed' has no parameter 'length'"):
        form_of("sealed", 20)
    with pytest.raises(InputError, match="Did you mean 'sealed'"):
        form_of("seal")


def test_a_key_is_not_shown() -> None:
    assert SECRET.hex() not in repr(Keys.of(SECRET))
    assert repr(SECRET) not in repr(Keys.of(SECRET))


# ---- dates


def test_intervals_and_weekdays() -> None:
    who = pl.Series(["1", "1", "2", None])
    dates = pl.Series("day", [dt.date(2020, 1, 1), dt.date(2020, 3, 1), dt.date(2020, 1, 1), dt.date(2020, 1, 1)])
    by = shifts_of(who, KEY, "person", keep_weekday=True)
    moved = shifted(dates, by)
    assert (moved[1] - moved[0]).days == 60
    assert moved[3] is None
    assert moved.dt.weekday().head(3).equals(dates.dt.weekday().head(3))
    assert (moved.head(3) != dates.head(3)).all()
    moments = pl.Series("at", [dt.datetime(2020, 1, 1, 12, 30)])
    assert shifted(moments, pl.Series([1]))[0] == dt.datetime(2020, 1, 2, 12, 30)


@given(st.lists(texts, max_size=30), st.integers(1, 5000))
@settings(max_examples=2 * settings().max_examples)
def test_a_shift_is_never_nothing_and_never_more_than_asked(subjects: list[str], days: int) -> None:
    assert all(1 <= abs(by) <= days for by in shifts(subjects, KEY, "person", days))
    assert all(by and by % 7 == 0 for by in shifts(subjects, KEY, "person", days, keep_weekday=True))


def test_what_is_no_date_is_not_shifted() -> None:
    with pytest.raises(InputError, match="'day' holds String, not dates"):
        shifted(pl.Series("day", ["2020-01-01"]), pl.Series([1]))


# ---- an attack beside the claim


def test_without_the_key_trying_all_values_finds_nobody() -> None:
    """A plain hash of two thousand patient numbers is undone by trying them all; a pseudonym is not."""
    values = [str(number) for number in range(2000)]
    shown = Code().made(values, KEY, "person")

    def hashed(value: str) -> str:
        return hashlib.sha256(value.encode()).hexdigest()

    control = {hashed(value): value for value in values}  # what the intruder prepares
    assert [control[hashed(value)] for value in values] == values  # the control: everybody is found

    for guess in (b"", b"person", bytes(32), b"shoal/1"):  # the intruder knows all but the key
        tried = set(Code().made(values, Key(1, guess), "person"))
        tried |= {Code().made([value], Key(1, value.encode()), "person")[0] for value in values[:100]}
        assert not tried & set(shown)
    plain = {hmac.digest(b"person", value.encode(), "sha256").hex()[:16] for value in values}
    assert not plain & set(shown)
