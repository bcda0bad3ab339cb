"""The public certificate: what was promised, what holds, and of which file. Nothing that the release does not show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from shoal.data.schema import Schema
from shoal.privacy.model import EquivalenceClasses, Verdict


def certificate(
    table: pl.DataFrame, schema: Schema, classes: EquivalenceClasses, verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    """Every number here can be counted again from the released file by anyone."""
    return {
        "made_by": f"shoal {shoal.__version__}",
        "records": table.height,
        "columns": table.columns,
        "quasi_identifiers": schema.quasi_identifiers,
        "confidential": schema.confidential,
        "classes": len(classes.sizes),
        "smallest_class": int(classes.sizes.min()) if len(classes.sizes) else 0,
        "models": [verdict.to_dict() for verdict in verdicts],
    }


def write_certificate(
    path: str | Path,
    table: pl.DataFrame,
    schema: Schema,
    classes: EquivalenceClasses,
    verdicts: Sequence[Verdict],
    digest: str,
    *,
    shuffled: bool,
) -> None:
    from shoal.data.files import atomic_write

    content = certificate(table, schema, classes, verdicts)
    content |= {"record_order": "shuffled" if shuffled else "as in the source", "sha256": digest}
    with atomic_write(path) as temporary:
        Path(temporary).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def verify_certificate(path: str | Path, source: str | Path, table: pl.DataFrame) -> tuple[Verdict, ...]:
    """The certificate's promises, judged anew on the file it must belong to."""
    import hashlib

    from shoal.errors import InputError, PromiseError
    from shoal.policy import Policy
    from shoal.release import check

    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        policy = Policy(
            quasi_identifiers=content["quasi_identifiers"],
            confidential=content["confidential"],
            models=[_asked(model) for model in content["models"]],
        )
        digest = content["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{str(path)!r} is not a certificate that Shoal wrote.") from None
    with Path(source).open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise PromiseError(
                f"{str(source)!r} is not the file that {str(path)!r} certifies: its digest differs."
            )
    return check(table, policy)


def _asked(model: dict[str, Any]) -> dict[str, Any]:
    """The model as a policy names it."""
    parameter = {"k-anonymity": "k", "l-diversity": "l", "t-closeness": "t"}[model["name"]]
    about = {"attribute": model["attribute"]} if "attribute" in model else {}
    return {"name": model["name"], parameter: model["asked"], **about}
