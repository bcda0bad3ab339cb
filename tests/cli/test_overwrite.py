"""Reruns: what is there already is refused before any work, or replaced as a whole with --overwrite.

A release and its certificate are replaced together; a run that fails or is killed never leaves an old certificate
beside a new release; and what is read is never written over, by whichever name.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.chunked_release import anonymize_to
from shoal.data.discharges import discharges as generate
from shoal.data.scratch import ASIDE
from shoal.engines.opening import open_table
from shoal.errors import InputError
from shoal.policy import Policy
from tests.cli.conftest import COMMANDS, Shoal
from tests.cli.test_killed import Place
from tests.engines.sessions import ON_SPARK

ROLES = ("--quasi", "age_yrs,sex", "--confidential", "charge", "--k", "5")
SPLIT = ("--quasi", "age_yrs,sex", "--confidential", "charge,los", "--k", "5", "--split", "confidential")
GOODS = ("--customer", "customer", "--item", "good")
NUMBERED = ("--no-header", "--customer", "1", "--item", "5")
RECODED = ("--method", "recode", "--hierarchies", "trees")
KEYED = ("--column", "id", "--key-file", "k.txt")
COMPARED = (
    "--attributes",
    "age_yrs,los",
    "--methods",
    "mdav",
    "--risk",
    "found_again",
    "--at-risk",
    "0.3",
    "--runs",
    "1",
)
BOUGHT = ("transactions", "anonymize", "t.csv", *GOODS, "--min-size", "5")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with tables in it."""
    from shoal.data.purchases import purchases

    monkeypatch.chdir(tmp_path)
    generate(600, seed=1).write_csv("d.csv")
    purchases(60, 7).write_csv("t.csv")
    Path("d").mkdir()
    generate(600, seed=1).write_parquet("d/part-00000.parquet")
    Path("trees").mkdir()
    Path("trees/sex.csv").write_text("".join(f"{sex};*\n" for sex in generate(600, seed=1)["sex"].unique().sort()))
    Path("counts.csv").write_text("attribute,value,count\nage,4*,1\nage,45,1\n")
    Path("masked.csv").write_text("age,sex\n4*,m\n50,f\n")
    Path("k.txt").write_text(f"1 {bytes(range(32)).hex()}\n2 {bytes(range(1, 33)).hex()}\n")
    Path("k.txt").chmod(0o600)
    Path("sealed.csv").write_text("id\niyqtgatph3jwkd2usdrsxamzowoo5iq\n")  # Ann, by version 1
    return tmp_path


# Command line -> the names of what it writes.
WRITERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "anonymize": (("anonymize", "d.csv", *ROLES, "-o", "r.csv"), ("r.csv",)),
    "anonymize, all that goes with it": (
        ("anonymize", "d.csv", *ROLES, "-o", "r.csv", "--certificate", "r.json", "--report", "r.html"),
        ("r.csv", "r.json", "r.html"),
    ),
    "anonymize to a database": (
        ("anonymize", "d.csv", *ROLES, "-o", "duckdb:///r.db#released"),
        ("duckdb:///r.db#released",),
    ),
    "anonymize --write explain": (
        ("anonymize", "d.csv", "--quasi", "sex", "--k", "5", "-o", "r.csv", *RECODED, "--write", "explain=."),
        ("r.csv", "frontier.csv", "frontier.png"),
    ),
    "anonymize --split": (
        (
            "anonymize",
            "d.csv",
            *SPLIT[:-1],
            "confidential:merge",
            "-o",
            "r.csv",
            "--certificate",
            "r.json",
            "--report",
            "r.html",
        ),
        ("r.csv", "r.charge.csv", "r.los.csv", "r.json", "r.charge.json", "r.los.json", "r.html"),
    ),
    "anonymize on disk": (("anonymize", "d", *ROLES, "-o", "r", "--certificate", "r.json"), ("r", "r.json")),
    "transactions anonymize": (
        (*BOUGHT, "-o", "r.csv", "--map", "m.csv", "--log", "l.csv"),
        ("r.csv", "m.csv", "l.csv"),
    ),
    "transactions anonymize --no-header": (
        ("transactions", "anonymize", "t.csv", *NUMBERED, "--min-size", "5", "-o", "r.csv"),
        ("r.csv",),
    ),
    "transactions anonymize, baskets": (
        ("transactions", "anonymize", "t.csv", *GOODS, "--k", "2", "--m", "1", "-o", "r.csv"),
        ("r.csv",),
    ),
    "transactions attack": (("transactions", "attack", "t.csv", "t.csv", *GOODS, "-o", "g.csv"), ("g.csv",)),
    "sample discharges": (("sample", "discharges", "--rows", "20", "-o", "s.csv"), ("s.csv",)),
    "sample discharges to a folder": (("sample", "discharges", "--rows", "20", "-o", "s"), ("s",)),
    "sample purchases": (("sample", "purchases", "--customers", "5", "-o", "s.csv"), ("s.csv",)),
    "regenerate": (("regenerate", "masked.csv", "--counts", "counts.csv", "--rescale", "-o", "g.csv"), ("g.csv",)),
    "pseudonym reveal": (("pseudonym", "reveal", "sealed.csv", *KEYED, "--version", "1", "-o", "o.csv"), ("o.csv",)),
    "pseudonym map": (
        ("pseudonym", "map", "sealed.csv", *KEYED, "--form", "sealed", "--from", "1", "--to", "2", "-o", "o.csv"),
        ("o.csv",),
    ),
    "profile": (("profile", "d.csv", "--write-policy", "shoal.toml"), ("shoal.toml",)),
    "hierarchy build": (("hierarchy", "build", "d.csv", "sex", "-o", "sex.csv", "--auto"), ("sex.csv",)),
    "compare": (
        ("compare", "d.csv", *COMPARED, "--no-cache", "--best", "-o", "r.csv", "--plot", "p.svg"),
        ("r.csv", "p.svg"),
    ),
}
KEEPS_ITS_OWN = {"demo", "run", *(name for name in COMMANDS if name.startswith("study"))}  # folders of results


def test_every_command_with_an_output_is_tried() -> None:
    writers = {
        name
        for name, command in COMMANDS.items()
        if any(option in parameter.opts for parameter in command.params for option in ("--output", "--write-policy"))
    }
    tried = {
        name for name in COMMANDS for words, _ in WRITERS.values() if list(words[: len(name.split())]) == name.split()
    }
    assert writers - KEEPS_ITS_OWN == tried


def content(name: str) -> dict[str, bytes]:
    """What stands under a name: a file, a folder's files, a database's file."""
    path = Path(name.removeprefix("duckdb:///").partition("#")[0])
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {str(file): file.read_bytes() for file in files}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_there_is_refused_before_any_work_or_replaced(
    name: str, place: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, targets = WRITERS[name]
    assert shoal(*words).code == 0
    before = {target: content(target) for target in targets}
    with monkeypatch.context() as patch:
        patch.setattr("shoal.data.files.read_table", _never)
        patch.setattr("shoal.data.discharges.discharges", _never)
        patch.setattr("shoal.data.purchases.purchases", _never)
        patch.setattr("shoal.engines.opening.open_table", _never)
        again = shoal(*words)
    assert again.code == 2
    assert again.sentence.endswith(
        "is there already: name another, or have it replaced (--overwrite, in Python overwrite=True)."
    )
    for target in targets if "://" not in targets[0] else ():
        aside = [Path(other).rename(f"{other}.aside") for other in targets if other != target]
        assert repr(target) in shoal(*words).sentence  # each by itself
        for path in aside:
            path.rename(str(path).removesuffix(".aside"))
    assert {target: content(target) for target in targets} == before
    assert shoal(*words, "--overwrite").code == 0
    assert all(Path(target).exists() for target in targets if "://" not in target)
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


def _never(*words: object, **named: object) -> None:
    raise AssertionError("it was worked on")


ENGINES = {
    "memory": ("d.csv", "r.csv", "r.json", ()),
    "disk": ("d", "r", "r.json", ("--engine", "disk")),
    "spark": ("d", "r", "r.json", ("--engine", "spark:master=local[2]")),
}


def within(place: Path, engine: str) -> tuple[str, str, str, tuple[str, ...]]:
    """The same by whole paths: Spark's current folder is that of the process's begin."""
    *names, options = ENGINES[engine]
    source, target, certificate = (str(place / name) for name in names if isinstance(name, str))
    return source, target, certificate, options


EACH = [pytest.param(name, marks=[*ON_SPARK, pytest.mark.slow] if name == "spark" else ()) for name in ENGINES]


@pytest.mark.parametrize("engine", EACH)
def test_release_and_certificate_are_replaced_together(engine: str, place: Path, shoal: Shoal) -> None:
    source, target, certificate, options = within(place, engine)
    words = ("anonymize", source, "-o", target, "--certificate", certificate, *options)
    assert shoal(*words, *ROLES).code == 0
    first = content(target)
    assert shoal(*words, "--quasi", "age_yrs,sex,patzip", "--k", "7", "--overwrite").code == 0
    assert content(target) != first
    held = shoal("check", target, "--certificate", certificate, *options, "--json")
    assert held.json["models"][0]["asked"] == 7
    assert shoal("check", target, "--certificate", certificate, *options).code == 0


@pytest.mark.parametrize("engine", EACH)
def test_a_certificate_that_would_be_left_behind_is_named(engine: str, place: Path, shoal: Shoal) -> None:
    source, target, certificate, options = within(place, engine)
    words = ("anonymize", source, "-o", target, *ROLES, *options)
    assert shoal(*words, "--certificate", certificate).code == 0
    before = content(target)
    for more in ((), ("--certificate", "another.json")):
        refused = shoal(*words, *more, "--overwrite")
        assert refused.code == 2
        assert f"{certificate!r} is the certificate of {target!r} as it is now" in refused.sentence
    assert content(target) == before
    Path(certificate).write_text('{"sha256": "of another file"}')
    Path("broken.json").write_text("{")
    assert shoal(*words, "--overwrite").code == 0


def test_of_a_split_release_the_name_to_give_is_that_of_all_certificates(place: Path, shoal: Shoal) -> None:
    words = ("anonymize", "d.csv", *SPLIT, "-o", "r.csv")
    assert shoal(*words, "--certificate", "sp.json").code == 0
    refused = shoal(*words, "--overwrite")
    assert refused.code == 2
    assert f"(--certificate {place / 'sp.json'})" in refused.sentence
    assert shoal(*words, "--overwrite", "--certificate", str(place / "sp.json")).code == 0
    Path("sp.charge.json").rename("mine.json")
    assert "as it is now: move it away first." in shoal(*words, "--overwrite").sentence


def failing(when: Callable[[str], bool], real: Callable[..., None]) -> Callable[..., None]:
    """Renaming that fails, as on a disk gone bad, where the new name is one of these."""

    def rename(old: str | Path, new: str | Path, **named: object) -> None:
        if when(os.fspath(new)):
            raise OSError(5, "Input/output error")
        real(old, new, **named)

    return rename


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("breaks", ["release", "certificate"])
def test_a_run_that_fails_at_its_last_step_leaves_all_as_it_was(
    engine: str, breaks: str, place: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target, certificate, options = ENGINES[engine]
    words = ("anonymize", source, "-o", target, "--certificate", certificate, *ROLES, *options)
    assert shoal(*words).code == 0
    before = content(target) | content(certificate)
    broken = str(place / (target if breaks == "release" else certificate))
    tried: list[str] = []

    def once(new: str) -> bool:
        tried.append(new)
        return new == broken and tried.count(broken) == 1  # what was put aside can go back

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing(once, os.replace))
        assert shoal(*words, "--overwrite").code == 2
    assert broken in tried
    if (engine, breaks) == ("disk", "certificate"):  # the folder, which has one of its own, is replaced already
        assert not Path(certificate).exists()
        certificate = "r/_certificate.json"
    else:
        assert content(certificate) | content(target) == before
    assert shoal("check", target, "--certificate", certificate, *options).code == 0
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


def test_a_promise_that_does_not_hold_leaves_the_old_release(place: Path, shoal: Shoal) -> None:
    for engine in ("memory", "disk"):
        source, target, certificate, options = ENGINES[engine]
        words = ("anonymize", source, "-o", target, "--certificate", certificate, *options)
        assert shoal(*words, *ROLES, "--overwrite").code == 0
        before = content(target) | content(certificate)
        Path("many.toml").write_text('quasi_identifiers = ["age_yrs"]\nmodels = [{name = "k-anonymity", k = 700}]\n')
        assert shoal(*words, "--policy", "many.toml", "--overwrite").code in (1, 2)
        assert content(target) | content(certificate) == before
        Path(certificate).unlink()


def test_tables_of_a_split_release_are_replaced_all_or_none(
    place: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("anonymize", "d.csv", *SPLIT, "-o", "r.csv", "--certificate", "r.json")
    names = ("r.charge.csv", "r.los.csv", "r.charge.json", "r.los.json")
    assert shoal(*words).code == 0
    before = {name: content(name) for name in names}
    for broken in names:
        with monkeypatch.context() as patch:
            tried: list[str] = []

            def once(new: str, broken: str = broken, tried: list[str] = tried) -> bool:
                tried.append(new)
                return new.endswith(broken) and len([name for name in tried if name.endswith(broken)]) == 1

            patch.setattr(os, "replace", failing(once, os.replace))
            assert shoal(*words, "--overwrite").code == 2
        assert {name: content(name) for name in names} == before
    assert shoal(*words, "--overwrite").code == 0
    assert all(
        shoal("check", f"r.{name}.csv", "--certificate", f"r.{name}.json").code == 0 for name in ("charge", "los")
    )


@pytest.mark.parametrize("name", ["d.csv", "hard.csv", "soft.csv", "trees/sex.csv", "people.csv", "shoal.toml"])
def test_what_is_read_is_never_written_over(name: str, place: Path, shoal: Shoal) -> None:
    os.link("d.csv", "hard.csv")
    os.symlink("d.csv", "soft.csv")
    generate(900, seed=1).write_csv("people.csv")
    Path("shoal.toml").write_text(
        'quasi_identifiers = ["age_yrs", "sex"]\n[attributes]\nsex.hierarchy = "trees/sex.csv"\n'
        '[[models]]\nname = "k-map"\nk = 2\npopulation = "people.csv"\n'
    )
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for option in ("-o", "--report", "--certificate"):
        others = () if option == "-o" else ("-o", "r.csv")
        refused = shoal("anonymize", "d.csv", "--policy", "shoal.toml", *others, option, name, "--overwrite")
        assert refused.code == 2, option
        assert "which this command reads" in refused.sentence or "not known by its name" in refused.sentence
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_compare_does_not_replace_what_its_policy_names(place: Path, shoal: Shoal) -> None:
    Path("shoal.toml").write_text('quasi_identifiers = ["age_yrs"]\n[attributes]\nsex.hierarchy = "trees/sex.csv"\n')
    before = Path("trees/sex.csv").read_bytes()
    words = ("compare", "d.csv", "--policy", "shoal.toml", *COMPARED, "--no-cache", "--best", "--overwrite")
    refused = shoal(*words, "-o", "trees/sex.csv")
    assert refused.code == 2
    assert "which this command reads" in refused.sentence
    assert Path("trees/sex.csv").read_bytes() == before


def test_a_database_that_is_read_is_not_replaced_by_a_file(place: Path, shoal: Shoal) -> None:
    assert shoal("anonymize", "d.csv", *ROLES, "-o", "duckdb:///d.db#d").code == 0
    words = ("anonymize", "duckdb:///d.db#d", "--quasi", "sex", "--k", "2")
    refused = shoal(*words, "-o", "r.csv", "--report", "d.db", "--overwrite")
    assert refused.code == 2
    assert "which this command reads" in refused.sentence
    refused = shoal(*words, "-o", "duckdb:///d.db#d", "--overwrite")
    assert "which this command reads" in refused.sentence


@pytest.mark.parametrize("engine", EACH[1:])
def test_a_folder_is_replaced_only_if_it_is_a_release_and_not_what_is_read(
    engine: str, place: Path, shoal: Shoal
) -> None:
    words = ("anonymize", "d", *ROLES, "--overwrite", *ENGINES[engine][-1])
    Path("mine").mkdir()
    Path("mine/part-0.parquet").write_text("mine")
    Path("home").mkdir()
    Path("home/diary.txt").write_text("mine")
    Path("nested/r").mkdir(parents=True)
    os.symlink("d", "soft")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for target, why in {
        "d": "it is not just a release",
        "soft": "it is not just a release",
        "mine": "holds no '_certificate.json'",
        "home": "holds 'diary.txt'",
        "nested": "holds 'r'",
        ".": "it is not just a release",
        "d/r": "lie in one another",
        "soft/r": "lie in one another",
        "d.csv": "is a file",
    }.items():
        refused = shoal(*words, "-o", target)
        assert refused.code == 2
        assert why in refused.sentence, target
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("engine", EACH[1:])
def test_a_release_that_is_read_is_not_replaced_by_its_own(engine: str, place: Path, shoal: Shoal) -> None:
    source, target, _, options = within(place, engine)
    assert shoal("anonymize", source, *ROLES, "-o", target, *options).code == 0
    os.symlink("r", "soft")
    Path("linked").mkdir()
    for part in Path("r").glob("part-*"):
        os.symlink(f"../{part}", f"linked/{part.name}")
    before = content("r")
    for source, target in (("r", "r"), ("soft", "r"), ("r", "soft"), ("linked", "r"), ("r", "r/r")):
        refused = shoal("anonymize", source, "--quasi", "charge", "--k", "5", "-o", target, "--overwrite", *options)
        assert refused.code == 2, (source, target)
        assert "lie in one another" in refused.sentence
    assert content("r") == before


@pytest.mark.parametrize("engine", EACH[1:])
def test_a_certificate_never_goes_to_the_folder_that_is_read(engine: str, place: Path, shoal: Shoal) -> None:
    source, target, _, options = within(place, engine)
    os.symlink("d/part-00000.parquet", "soft.json")
    os.link("d/part-00000.parquet", "hard.json")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for name in ("d/part-00000.parquet", "soft.json", "hard.json", "d/new.json"):
        refused = shoal("anonymize", source, *ROLES, "-o", target, "--certificate", name, "--overwrite", *options)
        assert refused.code == 2, name
        assert "lie in one another" in refused.sentence
        table = open_table(source, engine, master="local[2]" if engine == "spark" else None)
        policy = Policy(quasi_identifiers=["age_yrs"], models=[{"name": "k-anonymity", "k": 5}])
        with pytest.raises(InputError, match="lie in one another"):
            anonymize_to(table, policy, target, certificate=name, overwrite=True)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_a_release_that_was_replaced_stays_released(place: Path, shoal: Shoal) -> None:
    generate(400, seed=1).with_row_index("id").write_csv("people.csv")
    words = ("anonymize", "people.csv", *ROLES, "-o", "r.csv", "--ledger", "l.db,key=l.key")
    words += ("--subject", "id", "--incremental")
    assert shoal(*words).code == 0
    assert shoal(*words).code == 2  # nothing was recorded
    assert shoal(*words, "--overwrite").code == 0
    listed = shoal("releases", "list", "--ledger", "l.db", "--json").json
    assert [entry["state"] for entry in listed["releases"]] == ["done", "done"]


def test_another_run_that_was_faster_is_not_replaced(
    place: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def link(old: str | Path, new: str | Path, **named: object) -> None:
        if str(new).endswith("r.csv"):
            Path(new).write_text("another's")
        real(old, new)

    monkeypatch.setattr(os, "link", link)
    assert "is there already" in shoal("anonymize", "d.csv", *ROLES, "-o", "r.csv").sentence
    assert Path("r.csv").read_text() == "another's"


def test_without_links_a_file_still_gets_its_name(place: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(old: str | Path, new: str | Path, **named: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    words = ("anonymize", "d.csv", *ROLES, "-o", "r.csv", "--certificate", "r.json")
    assert shoal(*words).code == 0
    assert "is there already" in shoal(*words).sentence
    assert shoal(*words, "--overwrite").code == 0
    assert shoal("check", "r.csv", "--certificate", "r.json").code == 0


# ---- killed


def never_stale(place: Place, shoal: Shoal, target: str, certificate: str) -> None:
    """The certificate holds of the release that stands there, or says that it is not its own, or is missing."""
    paper = place.folder / certificate
    found = shoal("check", place.folder / target, "--certificate", paper)
    assert found.code == 0 if paper.exists() and (place.folder / target).exists() else found.code == 2


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_run_killed_while_it_replaces_never_leaves_an_old_certificate(
    engine: str, tmp_path: Path, shoal: Shoal
) -> None:
    place = Place(tmp_path)
    source, target, certificate, options = ENGINES[engine]
    words = [source, "-o", target, "--certificate", certificate, *ROLES, *options, "--overwrite"]
    assert place.run(*words) == 0
    assert place.run(*words) == 0
    touches = int(place.told.read_text())
    naming = range(touches - 24, touches - 1)
    ends = []
    for at in random.Random(3).sample(naming, 4):
        ends.append(place.run(*words, killed_at=at))  # one that finds no old certificate has fewer touches
        never_stale(place, shoal, target, certificate)
    assert set(ends) <= {0, -signal.SIGKILL}
    assert -signal.SIGKILL in ends
    assert place.run(*words) == 0
    assert shoal("check", place.folder / target, "--certificate", place.folder / certificate).code == 0
    assert place.left() == []


def test_a_folder_that_was_put_aside_comes_back_with_the_next_run(place: Path, shoal: Shoal) -> None:
    words = ("anonymize", "d", *ROLES, "-o", "r")
    assert shoal(*words).code == 0
    before = content("r")
    hidden = Path(".shoal-abcdefgh.partial")
    (hidden / ASIDE).mkdir(parents=True)
    (hidden / ".shoal-lock").touch()
    Path("r").rename(hidden / ASIDE / "r")
    assert "is there already" in shoal(*words).sentence or content("r") == before
    assert content("r") == before
    assert not hidden.exists()
