"""The line under every screen: the command that does the same, and the Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.choices import quoted_item
from shoal.jobs.run import POLICY, shell_word
from shoal.web.project import Policy

TABLE = "TABLE.csv"  # where none is chosen yet
_ANONYMIZE = ("promise", "method", "result")


def same_as(word: str, policy: Policy, query: Mapping[str, str]) -> dict[str, str]:
    """What does the same as a screen, in a shell and in Python, in the project's folder."""
    source = policy.source or TABLE
    read = _read(policy.table("read"))
    if word in _ANONYMIZE:
        shell = f"shoal anonymize {shell_word(source)} -o release.csv --policy {POLICY}"
        code = (
            "from shoal import Policy\nfrom shoal.jobs import Anonymize\n\n"
            f'policy = Policy.read("{POLICY}")\nAnonymize({source!r}, policy, "release.csv").run()'
        )
    elif word == "release":
        shell = "shoal run ."
        code = 'from pathlib import Path\n\nfrom shoal.jobs import Run\n\nRun(Path(".")).run()'
    elif word == "check":
        file, certificate = query.get("file", "release.csv"), query.get("certificate", "certificate.json")
        judge = f"--certificate {shell_word(certificate)}" if certificate else f"--policy {POLICY}"
        shell = f"shoal check {shell_word(file)} {judge}"
        by = f"certificate=Path({certificate!r})" if certificate else f'policy=Policy.read("{POLICY}")'
        imports = "from pathlib import Path\n\n" if certificate else "from shoal import Policy\n"
        code = f"{imports}from shoal.jobs import Check\n\nprint(Check({file!r}, {by}).run())"
    else:
        write = f" --write-policy {POLICY}" if word == "roles" else ""
        shell = f"shoal profile {shell_word(source)}{read}{write}"
        code = f"from shoal.jobs import Profile\n\nprint(Profile({source!r}).run())"
    return {"shell": shell, "python": code, "policy": policy.text}


def _read(stated: Mapping[str, Any]) -> str:
    """How the file is read, where that is stated, as an option."""
    simple = [f"{key}={value}" for key, value in stated.items() if isinstance(value, str)]
    return f" --read {shell_word(','.join(map(quoted_item, simple)))}" if simple else ""
