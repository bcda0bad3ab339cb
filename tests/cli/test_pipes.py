"""A pipe, or whatever else is no plain file, is refused at once wherever a file is read: nobody waits for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Shoal


@pytest.mark.parametrize(
    "words",
    [
        "anonymize p.csv -o r.csv --quasi a --k 2",
        "anonymize p.csv -o r --quasi a --k 2 --engine disk",
        "anonymize p.parquet -o r --quasi a --k 2 --engine disk",
        "anonymize d.csv -o r.csv --policy p.toml",
        "check p.csv --quasi a --k 2",
        "check p.csv --certificate c.json",
        "check d.csv --certificate p.json",
        "check p.csv --quasi a --k 2 --engine disk",
        "risk p.csv --quasi a --engine disk",
        "regenerate d.csv -o r.csv --counts p.csv",
        "hierarchy show p.csv",
        "transactions check p.csv --baskets --k 2 --m 1",
    ],
)
def test_a_pipe_is_not_waited_for(words: str, shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("a,b\n1,2\n1,2\n")
    Path("c.json").write_text('{"sha256": ""}')
    for suffix in ("csv", "parquet", "toml", "json"):
        os.mkfifo(f"p.{suffix}")
    refused = shoal(*words.split())
    assert refused.code == 2
    assert refused.sentence.endswith("is not a plain file: write what it gives to one first.")


@pytest.mark.parametrize("behind", ["a pipe", "nothing"])
def test_a_folder_in_which_a_file_of_the_table_cannot_be_read_is_refused(
    behind: str, shoal: Shoal, tmp_path: Path
) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n1,2\n1,2\n")
    if behind == "nothing":
        (folder / "b.csv").symlink_to("gone.csv")
    else:
        os.mkfifo(folder / "b.csv")
    refused = shoal("anonymize", folder, "-o", tmp_path / "r", "--quasi", "a", "--k", "2")
    assert refused.code == 2
    assert "b.csv' is named like a file of the table, but no plain file stands behind it" in refused.sentence
