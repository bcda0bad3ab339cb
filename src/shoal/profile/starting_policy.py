"""The policy that a profile proposes: each role with its reason, and the promise that fits whose the records are."""

from __future__ import annotations

import json
from collections.abc import Sequence

from shoal.data.people import Repeating
from shoal.data.reading import Reading
from shoal.data.schema import Role
from shoal.profile.attribute import AttributeProfile
from shoal.profile.weighing import weights_among

_LISTS = {
    "identifiers": Role.IDENTIFIER,
    "quasi_identifiers": Role.QUASI_IDENTIFIER,
    "confidential": Role.CONFIDENTIAL,
    "insensitive": Role.INSENSITIVE,
}
_PREAMBLE = "# A starting policy, suggested by the data: check the role of every attribute before you release.\n"
_METHOD = """
[method]
name = "hilbert"

# Texts that stand in an order, the lowest first:
# [attributes.education]
# kind = "ordinal"
# domain = ["primary", "secondary", "tertiary"]
"""


def starting_policy(attributes: Sequence[AttributeProfile], repeating: Sequence[Repeating], reading: Reading) -> str:
    """The text of a `shoal.toml` with the suggested roles.

    `repeating` are the identifiers by which several records are of one person or household; the first is counted by.
    """
    lists = "\n".join(_toml_list(key, attributes, role) for key, role in _LISTS.items())
    owner = repeating[0] if repeating else None
    gaps = owner is not None and any(a.missing for a in attributes if a.name == owner.name)
    stated = "" if owner is None else _counted_by(owner, gaps)
    used = f"{_weights(attributes, owner)}{stated}{_texts(attributes)}"
    chosen = f"{used}{_promise(owner)}{_METHOD}{_kinds(attributes)}{_read(reading)}"
    return f"{_PREAMBLE}\n{lists}\n{chosen}"


def _weights(attributes: Sequence[AttributeProfile], owner: Repeating | None) -> str:
    """The sampling weights, as a key; as a remark where people have several records, each of which would be weighed."""
    weights = weights_among(attributes)
    if weights is None:
        return ""
    of_visits = owner is not None and not owner.households
    key = f"weights = {_toml_string(weights.name)}  # {weights.reason}\n"
    return "\n" + (f"# Weights need one record a person:\n# {key}" if of_visits else key)


def _counted_by(owner: Repeating, gaps: bool) -> str:
    """Whom k counts, as a key."""
    key, meant = ("household", "households") if owner.households else ("person", "people")
    stated = (
        f"\n{key} = {_toml_string(owner.name)}  # {owner.records:,} records of {owner.people:,} {meant}: k is {meant}\n"
    )
    nobody = '# missing_person = "one-each"  # each record without one is a person of her own; else they are refused\n'
    return stated + (nobody if gaps and not owner.households else "")


def _promise(owner: Repeating | None) -> str:
    """What is promised, and as a remark what is to be promised instead where the file is to show more, or less."""
    if owner is None:
        return _model("k-anonymity")
    if owner.households:
        less = "# To leave out who lives together, promise this instead; a class may then be one family:"
        return f"{_model('households')}\n{less}\n{_remark(_model('k-anonymity'))}"
    more = (
        "# To keep whose records belong together, by fresh numbers or over several tables, promise this instead; all\n"
        "# records of a person together are then those of 4 others:"
    )
    return f"{_model('k-anonymity')}\n{more}\n{_remark(_model('linked'))}"


def _model(name: str) -> str:
    return f'\n[[models]]\nname = "{name}"\nk = 5\n'


def _remark(lines: str) -> str:
    return "".join(f"# {line}\n" for line in lines.strip().splitlines())


def _kinds(attributes: Sequence[AttributeProfile]) -> str:
    """What a policy says of the columns that are masked, where their types alone do not say it."""
    masked = (Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL)
    return "".join(_toml_attribute(a) for a in attributes if a.role in masked and a.choice)


def _read(reading: Reading) -> str:
    """How the file is read, where that is not the plainest way."""
    import tomli_w

    stated = reading.chosen()
    return "\n" + tomli_w.dumps({"read": stated}) if stated else ""


def _texts(attributes: Sequence[AttributeProfile]) -> str:
    """Free text and further weights as a remark: they have no role."""
    texts = [a for a in attributes if a.role is None and a is not weights_among(attributes)]
    return "".join(f"# {_toml_string(a.name)} is left out. {a.reason}\n" for a in texts)


def _toml_list(key: str, attributes: Sequence[AttributeProfile], role: Role) -> str:
    lines = "".join(f"  {_toml_string(a.name)},  # {a.reason}\n" for a in attributes if a.role is role)
    return f"{key} = [\n{lines}]" if lines else f"{key} = []"


def _toml_attribute(a: AttributeProfile) -> str:
    import tomli_w

    table = tomli_w.dumps({key: value for key, value in a.choice.items() if key != "hierarchy"})
    tree = "" if "hierarchy" not in a.choice else 'hierarchy = {type = "prefix"}\n'
    return f"\n[attributes.{_toml_string(a.name)}]  # {a.kind_reason}\n{table}{tree}"


def _toml_string(text: str) -> str:
    """JSON's strings are TOML's basic strings, but for the control character 7F."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
