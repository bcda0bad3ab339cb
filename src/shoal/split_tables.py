"""What split releases are made of, in memory or on an engine: policies of their tables, names, and how they show.

Of T(A1..Ar, C1..Cs) each table T_i(A1..Ar, C_i) shows one confidential attribute (`shoal.split`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from shoal.data.paths import is_sql
from shoal.data.schema import Role
from shoal.errors import InputError
from shoal.masking.publishing.confidential import Showing
from shoal.policy import Policy
from shoal.report.certificate import refuse_uncertified
from shoal.risk.dependence import Dependence
from shoal.show import Bars, Chart, Result, Series, Sheet

MERGED = ""  # stands for all attributes in one table


def confidential_of(policy: Policy) -> tuple[str, ...]:
    """The attributes that a release is split by."""
    if not policy.confidential:
        raise InputError("A release is split by its confidential attributes, but none is named: name one.")
    if policy.pseudonyms or policy.shift is not None:
        raise InputError(
            "Tables that show the same pseudonyms, or dates of which the shift is known from another, can be put "
            "together by anybody: leave out --split, or the pseudonyms and the shift."
        )
    return policy.confidential


def shown_by(policy: Policy, names: Sequence[str]) -> dict[str, Showing]:
    """As the policy says, and by ranges where it says nothing."""
    return {name: policy.show.get(name, "range") for name in names}


def about(policy: Policy, names: Sequence[str], shown: Mapping[str, Showing]) -> Policy:
    """The policy of a table of A1..Ar and these confidential attributes; what is not `shown` is grouped by as well."""
    quasi = [name for name in policy.quasi_identifiers if name not in policy.confidential]
    quasi += [name for name in names if name not in shown]
    hidden = {name for name in policy.confidential if name not in names}
    total = sum(by == "private-mean" for by in policy.show.values())
    private = sum(by == "private-mean" for by in shown.values())
    share = policy.epsilon * private / total if policy.epsilon is not None and private else None
    return policy.changed(
        quasi_identifiers=quasi,
        confidential=tuple(names),
        insensitive=(),
        rest="drop",
        models=[model for model in policy.models if model.attribute not in hidden],
        show=dict(shown),
        epsilon=policy.epsilon if total == 0 else share,
        groups={group: tuple(n for n in known if n not in hidden) for group, known in policy.groups.items()},
    )


def left_out_of_all(columns: Sequence[str], roles: Mapping[str, frozenset[Role]]) -> list[str]:
    """A column that stands in every table would link them record by record."""
    left = [name for name in columns if name not in roles]
    left += [name for name, named in roles.items() if Role.INSENSITIVE in named]
    if not left:
        return []
    listed = ", ".join(repr(name) for name in left[:8]) + (f" and {len(left) - 8} more" if len(left) > 8 else "")
    return [f"Left out: {listed}. Each table shows the quasi-identifiers and one confidential attribute."]


def beside(path: str | Path, name: str) -> Path:
    """`release.csv` -> `release.charge.csv`."""
    if is_sql(path):
        raise InputError("A split release is several files: name a file, not a database.")
    path = Path(path)
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    return path.with_name(path.name.removesuffix(suffix) + "." + re.sub(r"[^\w-]+", "_", name) + suffix)


def beside_each(path: str | Path, names: Sequence[str]) -> dict[str, Path]:
    """Where the table of each attribute is written."""
    targets = {name: beside(path, name) for name in names}
    if len(set(targets.values())) < len(targets):
        raise InputError("Two confidential columns would be written to one file: rename one of them.")
    return targets


class Target(NamedTuple):
    """Where a table is written, and its certificate, if any is."""

    path: Path
    certificate: Path | None


def targets_of(
    path: str | Path, names: Sequence[str], certificate: str | Path | None, *, merge: bool
) -> dict[str, Target]:
    """Where each table goes; with `merge` the first is of all attributes in one."""
    tables = {MERGED: Path(path)} if merge else {}
    return {name: Target(to, paper_of(certificate, name)) for name, to in (tables | beside_each(path, names)).items()}


def refuse_uncertified_tables(targets: Mapping[str, Target], *, overwrite: bool) -> None:
    """Refuses certificates of earlier tables that would lie beside these and be none of theirs."""
    for name, (path, certificate) in sorted(targets.items(), key=lambda target: target[0] == MERGED):
        refuse_uncertified(path, [certificate], overwrite=overwrite, asked_by=partial(_beside_which, name=name))


def paper_of(certificate: str | Path | None, name: str) -> Path | None:
    """Where the certificate of one table is written, if any is."""
    if certificate is None:
        return None
    return Path(certificate) if name == MERGED else beside(certificate, name)


def _beside_which(path: Path, name: str) -> Path | None:
    """`release.charge.json` -> `release.json`, beside which it is; None: beside none. Of all in one it is the path."""
    part = "." + re.sub(r"[^\w-]+", "_", name) if name else ""
    if not path.stem.removesuffix(part):
        return None
    return path.with_name(path.stem.removesuffix(part) + path.suffix) if path.stem.endswith(part) else None


def refuse_older(path: str | Path, *, merge: bool) -> None:
    """Refuses tables beside an older one of all attributes, which together would tell more than either."""
    if not merge and os.path.exists(path):
        raise InputError(
            f"{str(path)!r} is there already, and is not of this release: tables beside it may tell more than either. "
            "Have all attributes written to it as well (merge), move it away, or choose another name."
        )


class OneTable(Protocol):
    """A judged table."""

    @property
    def information_loss(self) -> float:
        """How far released values may lie from the original ones, in standard deviations."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """For the custodian."""
        ...


@dataclass(frozen=True)
class SplitTables(Result):
    """One judged table a confidential attribute."""

    tables: Mapping[str, OneTable] = field(repr=False)
    merged: OneTable | None = field(repr=False)  # judged too, whether or not it is written
    dependence: Dependence
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """For the custodian."""
        return {
            "tables": {name: release.to_dict() for name, release in self.tables.items()},
            "merged": self.merged.to_dict() if self.merged is not None else None,
            "dependence": self.dependence.to_dict(),
            "notes": list(self.notes),
        }

    def remarks(self) -> tuple[str, ...]:
        """The notes."""
        return self.notes

    def charts(self) -> list[Chart]:
        """What each table lost, and how far the attributes depend on each other."""
        lost = Series("information loss", [release.information_loss for release in self.tables.values()])
        return [Bars("Information loss by table", list(self.tables), (lost,), "number"), *self.dependence.charts()]

    def sheets(self) -> list[Sheet]:
        """As tables: what was released of each attribute, and how the attributes depend on each other."""
        judged = dict(self.tables) | ({"merged": self.merged} if self.merged is not None else {})
        rows = [
            (
                name,
                *(f"{facts[count]:,}" for count in ("records", "classes", "smallest_class")),
                f"{facts['information_loss']:.4f}",
            )
            for name, facts in ((name, release.to_dict()) for name, release in judged.items())
        ]
        header = ("table", "records", "classes", "smallest class", "information loss")
        return [Sheet("Released", header, rows, numbers=4), *self.dependence.sheets()]
