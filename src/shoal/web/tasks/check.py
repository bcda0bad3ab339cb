"""Judging a release that somebody made: by its certificate, or by the project's policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def check(file: str, certificate: str, stamp: str) -> dict[str, Any]:
    """Every promise and whether it holds of the file; without a certificate, by the policy of this folder."""
    from shoal.errors import PromiseError
    from shoal.jobs.check import Check
    from shoal.web.tasks.look import POLICY, policy_of

    policy = None if certificate else policy_of(Path(POLICY).read_bytes().decode("utf-8-sig"))
    try:
        judgement = Check(file, policy, Path(certificate) if certificate else None).run()
    except PromiseError as error:  # the file is not the one that the certificate is of
        return {"holds": False, "records": None, "verdicts": [], "notes": [], "refused": str(error)}
    verdicts = [verdict.to_dict() for verdict in judgement.verdicts]
    return {
        "holds": judgement.holds,
        "records": judgement.records,
        "verdicts": verdicts,
        "notes": list(judgement.notes),
        "refused": "",
    }
