"""What a type checker, and so an editor, knows of a user's own code: mistakes are found before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import pytest

from shoal.data.reading import Reading, ReadingChoices
from shoal.policy import AttributeChoice, AttributeTable, Choices, Policy

RIGHT = """
import polars as pl
import shoal

table = pl.DataFrame({"age": [1, 2], "zip": ["a", "b"]})
policy = shoal.Policy(
    quasi_identifiers=["age", "zip"],
    models=[shoal.KAnonymity(2), {"name": "t-closeness", "t": 0.2}],
    method=shoal.Kd(),
    attributes={"zip": {"kind": "ordinal", "domain": ["a", "b"]}},
)
policy.changed(suppression=0.1, models=shoal.KAnonymity(3))
k: float = policy.models[0].asked
name: str = policy.method.name
rows: int = shoal.anonymize(table, policy).frame.height
lazy: pl.LazyFrame = shoal.anonymize(table.lazy(), policy).frame
"""
WRONG = {
    'shoal.Policy(quasi_identifer=["age"])': 'Unexpected keyword argument "quasi_identifer" for "Policy"',
    "policy.changed(supression=0.1)": 'Unexpected keyword argument "supression" for "changed"',
    'shoal.Policy(quasi_identifiers="age")': "incompatible type",
    'shoal.Policy(attributes={"zip": {"knd": "ordinal"}})': 'incompatible type "str": "dict[str, str]"',
    'shoal.Policy(rest="keep")': "incompatible type",
    "policy.method.mesk": 'has no attribute "mesk"',
    "shoal.anonymize(table, policy).frame.heigt": '"DataFrame" has no attribute "heigt"',
    "policy.models[0].askd": 'has no attribute "askd"',
    "shoal.KAnonymity(m=5)": 'Unexpected keyword argument "m"',
}


@pytest.mark.slow
def test_mistakes_are_found_where_they_stand_and_nothing_else(tmp_path: Path) -> None:
    """By the project's own settings, so that what was learnt when the library was checked is used again."""
    from mypy import api

    root = Path(__file__).parents[1]
    file = tmp_path / "own.py"
    file.write_text(RIGHT + "\n".join(WRONG) + "\n", encoding="utf-8")
    settings = [f"--config-file={root / 'pyproject.toml'}", f"--cache-dir={root / '.mypy_cache'}"]
    out, problems, _ = api.run([*settings, str(file)])
    assert not problems
    errors = [line.partition(":")[2] for line in out.splitlines() if ": error: " in line]
    first = RIGHT.count("\n") + 1
    assert [line.partition(":")[0] for line in errors] == [str(first + i) for i in range(len(WRONG))]
    for error, expected in zip(errors, WRONG.values(), strict=True):
        assert expected in error


def test_type_checkers_know_every_choice_of_a_policy() -> None:
    assert get_type_hints(Choices).keys() == Policy.model_fields.keys()
    assert get_type_hints(ReadingChoices).keys() == {each.name for each in Reading.parameters()}
    assert get_type_hints(AttributeTable).keys() == AttributeChoice.model_fields.keys()
