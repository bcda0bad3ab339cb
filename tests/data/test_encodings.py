"""Which encoding a text file is in: seen, with how sure that is said; refused where it cannot be seen."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shoal.data.csv_files import settled
from shoal.data.decoded import encoding_note, recoded, understood
from shoal.data.files import read_table
from shoal.data.reading import AS_IT_SEEMS
from shoal.errors import InputError
from shoal.jobs import Anonymize, Check, Layout, Profile
from shoal.policy import Policy

GERMAN = "Name;Straße;Betrag\nMüller;Gräfstraße 5;12,50 €\nJäger;Höhenweg 7;8,00 €\nGrüß;Ölmühle 9;1,00 €\n"
FRENCH = "nom;métier;lieu\nHélène;élève;forêt\nFrançois;garçon;hôpital\nÉmile;maçon;château\n"
SPANISH = "nombre;ciudad\nNúñez;Málaga\nPeña;León\nÍñigo;Cádiz\n"
DANISH = "navn;by\nSøren;København\nJørgen;Århus\nBjørn;Ærø\n"
JAPANESE = "氏名;性別;住所\n山田太郎;男性;東京都\n鈴木花子;女性;大阪府\n"
RUSSIAN = "имя;город\nИванов;Москва\nПетрова;Саратов\nСмирнов;Тверь\n"
POLISH = "imię;miasto\nŁukasz;Łódź\nŻaneta;Kraków\nMałgorzata;Gdańsk\n"


def written(folder: Path, content: bytes, name: str = "d.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, "cp1252") for text in (GERMAN, FRENCH, SPANISH, DANISH)),
        *((text, "mac-roman") for text in (GERMAN, FRENCH, SPANISH, DANISH)),
        *((text, "latin-1") for text in (FRENCH, SPANISH, DANISH)),
        (GERMAN, "iso8859-15"),
        (FRENCH.replace("lieu", "cœur"), "iso8859-15"),
        (JAPANESE, "shift_jis"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (POLISH, "cp1250"),
        *((GERMAN, each) for each in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")),
    ],
)
def test_the_encoding_is_seen(text: str, encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, text.encode(encoding))
    table = read_table(path)
    first, *lines = [line.split(";") for line in text.splitlines()]
    assert table.columns == first
    assert table[first[1]].to_list() == [fields[1] for fields in lines]
    packed = written(tmp_path, gzip.compress(path.read_bytes()), "d.csv.gz")
    assert read_table(packed).equals(table)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_seen_by_its_mark_in_both_orders(encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, ("\ufeff" + FRENCH).encode(encoding))
    assert understood(path).encoding == "utf-16"
    assert read_table(path).columns == ["nom", "métier", "lieu"]


def test_how_sure_it_is_is_said_and_the_policy_states_it(tmp_path: Path) -> None:
    path = written(tmp_path, GERMAN.encode("cp1252"))
    (note,) = encoding_note(path)
    assert note.startswith("d.csv is read as Windows-1252 (")
    assert note.endswith("say --read encoding=... if names look wrong.")
    assert settled(path, AS_IT_SEEMS).encoding == "cp1252"
    profiled = Profile(path, tmp_path / "shoal.toml").run()
    assert profiled.notes[0] == note
    assert Policy.read(tmp_path / "shoal.toml").reading.encoding == "cp1252"
    assert Layout(encoding="cp1252").assumed(path) == ()


def test_unicode_leaves_no_doubt(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert encoding_note(written(tmp_path, FRENCH.encode(encoding))) == ()


def test_a_release_and_its_check_say_what_was_assumed(tmp_path: Path) -> None:
    records = "".join(f"{20 + i % 2};Jäger {i}\n" for i in range(20))
    path = written(tmp_path, f"age;Größe\n{records}".encode("cp1252"))
    policy = Policy(quasi_identifiers=["age"], confidential=["Größe"])
    release = Anonymize(path, policy, tmp_path / "r.csv").run()
    assert release.notes[0].startswith("d.csv is read as Windows-1252")
    assert release.policy.reading.encoding == "cp1252"
    again = Anonymize(path, release.policy, tmp_path / "again.csv").run()
    assert not any("is read as Windows-1252" in note for note in again.notes)
    assert Check(path, policy).run().notes[0].startswith("d.csv is read as Windows-1252")


def test_what_reads_two_ways_is_refused_with_both(tmp_path: Path) -> None:
    path = written(tmp_path, "name;n\nMüller;1\n".encode("mac-roman"))
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert "line 2 holds 'Müller' in Mac Roman, 'M" in str(caught.value)
    assert "Say which it is: --read encoding=mac-roman or --read encoding=" in str(caught.value)
    assert read_table(path, encoding="mac-roman")["name"].to_list() == ["Müller"]


def test_what_no_encoding_makes_sense_of_is_refused_by_line_and_byte(tmp_path: Path) -> None:
    path = written(tmp_path, b"name;n\na;1\n\x81\x8d\x90;2\n")
    with pytest.raises(InputError, match="line 3 holds the byte 0x81, and no encoding that is known by its words"):
        read_table(path)


def test_a_stray_byte_far_down_is_seen(tmp_path: Path) -> None:
    plain = "name;n\n" + "Ann;1\n" * 60_000
    path = written(tmp_path, (plain + "Müller;2\nWeiß;3\n").encode("cp1252"))
    assert read_table(path)["name"].to_list()[-2:] == ["Müller", "Weiß"]


def test_an_edited_file_is_looked_at_anew(tmp_path: Path) -> None:
    path = written(tmp_path, FRENCH.encode("cp1252"))
    assert understood(path).encoding == "cp1252"
    written(tmp_path, FRENCH.encode())
    assert understood(path).encoding == "utf-8"


def test_characters_across_the_edge_of_a_block_are_decoded_whole(tmp_path: Path) -> None:
    text = "x" + JAPANESE * 6_000  # more than a block, of two bytes a character from an odd place on
    path = tmp_path / "d.csv"
    assert recoded(text.encode("shift_jis"), "shift_jis", path).decode() == text
    with pytest.raises(InputError, match="is not cp932: line 18001 holds the byte"):
        recoded(text.encode("shift_jis") + b"\x81", "cp932", path)
