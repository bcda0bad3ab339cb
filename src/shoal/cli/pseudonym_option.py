"""`--pseudonym COLUMN=domain:form`: identifiers shown by keyed pseudonyms, and dates shifted by the same key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import typer

from shoal.catalogue import Entry, parameter

if TYPE_CHECKING:
    from shoal.policy import Policy

NONE = "none"  # in place of a form: dates are shifted, and nothing is shown

Pseudonyms = Annotated[
    list[str] | None,
    typer.Option(
        "--pseudonym",
        metavar="COLUMN=DOMAIN:FORM",
        help="code, number, sealed or like; id=person:code,key=FILE,shift=DATE;DATE,days=365,keep-weekday.",
        rich_help_panel="Roles",
    ),
]


class _Riders(Entry):
    """What is chosen of a pseudonym besides its domain and form."""

    name: ClassVar[str] = "--pseudonym"

    key: str | None = parameter("the file of the secret key; made where there is none", default=None)
    length: int | None = parameter("of codes: characters", default=None, least=1)
    shift: str | None = parameter("dates to shift by this column, with ; between them", default=None)
    days: int | None = parameter("the most by which dates are shifted", default=None, least=1)
    keep_weekday: bool = parameter("shift by whole weeks", default=False)


class Chosen(NamedTuple):
    """What the options say: the policy with it, and the file of the key."""

    policy: Policy
    key: Path | None


def with_pseudonyms(policy: Policy, options: list[str] | None) -> Chosen:
    """The policy with what each `--pseudonym` says; the key's file may be named with any of them."""
    from shoal.errors import InputError

    pseudonyms: dict[str, Any] = dict(policy.pseudonyms)
    shift: Any = policy.shift
    files: set[str] = set()
    for text in options or []:
        column, choice, riders = _read(text)
        if choice is None and column not in policy.identified_by:
            raise InputError(
                f"--pseudonym {text!r} is not COLUMN=DOMAIN:FORM, such as patient=person:code; a column alone is one "
                "of which the policy says it."
            )
        if choice is not None and choice.get("form") != NONE:
            length = {} if riders.length is None else {"length": riders.length}
            pseudonyms[column] = choice | length
        if riders.shift is not None:
            if shift is not policy.shift:
                raise InputError(
                    "--pseudonym shifts dates by two columns: they are shifted by one, name all dates there."
                )
            shift = _shift(column, choice, riders)
        elif riders.days is not None or riders.keep_weekday or (choice or {}).get("form") == NONE:
            raise InputError(f"--pseudonym {text!r} shifts no dates: name them (shift=DATE;DATE).")
        files |= {riders.key} if riders.key is not None else set()
    if len(files) > 1:
        raise InputError(f"--pseudonym names {len(files)} keys: all pseudonyms of a release have one, name it once.")
    changed = policy.changed(pseudonyms=pseudonyms, shift=shift) if options else policy
    return Chosen(changed, Path(files.pop()) if files else None)


def _read(text: str) -> tuple[str, dict[str, Any] | None, _Riders]:
    from shoal.choices import items_of, settings

    first, *items = items_of(text) or [""]
    column, sign, rest = first.rpartition("=")
    riders = settings(items, _Riders)
    if not sign:
        return rest, None, riders
    domain, colon, form = rest.partition(":")
    return column, {"domain": domain, **({"form": form} if colon else {})}, riders


def _shift(column: str, choice: dict[str, Any] | None, riders: _Riders) -> dict[str, Any]:
    assert riders.shift is not None
    names = tuple(name.strip() for name in riders.shift.split(";") if name.strip())
    days = {} if riders.days is None else {"days": riders.days}
    domain = {} if choice is None else {"domain": choice["domain"]}
    return {"columns": names, "subject": column, "keep_weekday": riders.keep_weekday, **domain, **days}
