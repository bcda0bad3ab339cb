"""A policy's text says what it is to say, and all else in it stays."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shoal.web.edits import edited

TEXT = """\
# first
names = [
  "a",  # of a
  "b",  # of b
]  # after
rest = "drop"  # of rest

[[models]]  # of models
name = "k-anonymity"
k = 5  # of k

[attributes."a b"]  # of attribute
kind = "nominal"
"""
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6)
values = st.one_of(st.integers(-(2**40), 2**40), st.booleans(), words, st.floats(-1e6, 1e6, allow_nan=False))
keys = st.text("abcé \"'.#[", min_size=1, max_size=4)
contents = st.dictionaries(
    keys,
    st.one_of(
        values,
        st.lists(words, max_size=4),
        st.dictionaries(keys, values | st.lists(words, max_size=2), max_size=3),
        st.lists(st.fixed_dictionaries({"name": st.sampled_from("uvw"), "k": values}), min_size=1, max_size=3),
    ),
    max_size=5,
)


@given(contents, contents)
def test_any_policy_becomes_any_other_and_back(first: dict[str, Any], second: dict[str, Any]) -> None:
    text = edited("", first)
    assert tomllib.loads(text) == first
    assert edited(text, first) == text
    assert tomllib.loads(edited(edited(text, second), first)) == first


def test_what_stays_keeps_its_remark_and_its_place() -> None:
    wanted = tomllib.loads(TEXT)
    wanted["names"] = ["b", "c"]
    wanted["models"][0]["k"] = 7
    wanted["models"].append({"name": "l-diversity", "l": 2})
    changed = edited(TEXT, wanted)
    for remark in ("# first", '"b",  # of b', "# after", "# of rest", "# of models", "k = 7  # of k", "# of attribute"):
        assert remark in changed
    assert "# of a\n" not in changed
    del wanted["models"][1]
    wanted["names"], wanted["models"][0]["k"] = ["b"], 5
    assert tomllib.loads(edited(changed, wanted)) == wanted


def test_lists_of_tables_in_braces_and_empty_ones_are_brought_too() -> None:
    for text in ('models = [{name = "k-anonymity", k = 5}]\nrest = "drop"\n', 'models = []\nrest = "drop"\n', TEXT):
        wanted = tomllib.loads(text)
        for models in (
            [{"name": "k-anonymity", "k": 7}, {"name": "l-diversity", "l": 2}],
            [],
            [{"name": "linked", "k": 3}],
        ):
            wanted["models"] = models
            assert tomllib.loads(edited(text, wanted)) == wanted


def test_a_text_that_says_it_already_stays_byte_by_byte() -> None:
    assert edited(TEXT, tomllib.loads(TEXT)) == TEXT
    crlf = TEXT.replace("\n", "\r\n")
    assert edited(crlf, tomllib.loads(crlf)) == crlf
