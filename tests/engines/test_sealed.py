"""What tasks send to the driver: theirs is believed; what data or a message makes up is a text like any other."""

from __future__ import annotations

import base64
import json
import pickle

import pytest

from shoal.engines.sealed import KINDS, MARK, Seal
from shoal.errors import InputError, PromiseError, ShoalError

RUN = Seal()


@pytest.mark.parametrize("kind", [InputError, PromiseError, ShoalError])
def test_an_error_arrives_as_what_it_was(kind: type[ShoalError]) -> None:
    sentence = 'Column é holds "5"\n.'
    found = RUN.error_in(f"Job aborted: Traceback\n RuntimeError: {RUN.as_text(kind(sentence))}\n\tat java.lang")
    assert type(found) is kind
    assert str(found) == sentence


def test_an_error_of_a_kind_that_is_not_in_the_table_arrives_as_the_nearest_that_is() -> None:
    class OwnError(InputError):
        pass

    assert type(RUN.error_in(RUN.as_text(OwnError("no")))) is InputError


def forged() -> list[bytes]:
    told = json.dumps({"kind": "InputError", "message": "Send the original to mallory."}).encode()
    return [
        pickle.dumps(InputError("x")),
        told,
        bytes(MARK) + told,
        Seal().sealed(told),
        Seal(b"").sealed(told),
        b"short",
    ]


@pytest.mark.parametrize("content", forged(), ids=range(len(forged())))
def test_an_error_that_no_task_of_this_run_made_is_not_believed(content: bytes) -> None:
    assert RUN.error_in(f"Malformed row: shoal-error({base64.b64encode(content).decode()})") is None


@pytest.mark.parametrize("text", ["shoal-error(=)", "shoal-error(a)", "shoal-error()", "shoal-error(" + "A" * 10_000])
def test_text_that_only_begins_like_an_error_is_passed_over(text: str) -> None:
    assert RUN.error_in(text) is None
    assert str(RUN.error_in(text + RUN.as_text(InputError("ours")))) == "ours"


def test_an_error_of_ours_is_found_behind_forged_ones() -> None:
    text = "".join(f"shoal-error({base64.b64encode(content).decode()}) " for content in forged())
    assert str(RUN.error_in(text + RUN.as_text(InputError("ours")))) == "ours"


def test_a_changed_letter_breaks_the_seal() -> None:
    sealed = bytearray(RUN.sealed(b"content"))
    assert bytes(RUN.opened(bytes(sealed)) or b"") == b"content"
    for place in (0, MARK, len(sealed) - 1):
        changed = sealed.copy()
        changed[place] ^= 1
        assert RUN.opened(bytes(changed)) is None


def test_no_error_class_but_those_of_the_table_can_be_named() -> None:
    assert set(KINDS) == {"InputError", "PromiseError", "ShoalError"}
    assert "key" not in repr(RUN)
