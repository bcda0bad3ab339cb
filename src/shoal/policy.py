"""A policy: all choices of one release as one validated object that round-trips with `shoal.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

import polars as pl
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    InstanceOf,
    PrivateAttr,
    ValidationError,
    field_serializer,
    field_validator,
)

from shoal.catalogue import as_table, build
from shoal.data.attribute_choice import AttributeChoice as AttributeChoice
from shoal.data.attribute_choice import AttributeTable as AttributeTable
from shoal.data.built_attributes import Valued, built_attribute, chosen_attribute
from shoal.data.household import role_of_household
from shoal.data.paths import refuse_pipe
from shoal.data.person import MissingPerson, role_of_person
from shoal.data.project_choice import ProjectChoice as ProjectChoice
from shoal.data.pseudonym_choices import PseudonymChoice, ShiftChoice, give_roles
from shoal.data.pseudonym_keys import Keys, read_keys
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.data.schema import Attribute, Kind, Person, Role, Schema, refuse_named_twice
from shoal.data.table_choice import TableChoice
from shoal.data.text_choice import TextChoice
from shoal.errors import InputError, did_you_mean
from shoal.masking import METHODS
from shoal.masking.grouping.hilbert import Hilbert
from shoal.masking.method import Method
from shoal.masking.publishing.confidential import Showing
from shoal.masking.publishing.private_mean import PrivateMean, private_mean, refuse_several_records, require_epsilon
from shoal.policy_choices import Choices as Choices
from shoal.policy_choices import policy_fault
from shoal.policy_files import beside, file_name, inside, named_files, named_source, refuse_own_code, see_from
from shoal.privacy import MODELS
from shoal.privacy.consistency import Owned, Rule, owned, rules_of
from shoal.privacy.households import household_column, with_household
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.model import PrivacyModel
from shoal.privacy.persons import counting_people
from shoal.table_schemas import entry_schema, table_schemas

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

    from shoal.data.hierarchy import Hierarchy


class Policy(BaseModel):
    """All choices of one release."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True, serialize_by_alias=True
    )

    identifiers: tuple[str, ...] = Field((), description="never released")
    quasi_identifiers: tuple[str, ...] = Field((), description="what an intruder may know")
    confidential: tuple[str, ...] = Field((), description="what must not be learnt")
    insensitive: tuple[str, ...] = Field((), description="released as they are")
    rest: Literal["drop", "insensitive"] = Field("drop", description="what becomes of columns that no role names")
    models: tuple[InstanceOf[PrivacyModel], ...] = Field((KAnonymity(5),), description="what is promised")
    method: InstanceOf[Method] = Field(default_factory=Hilbert, description="how it is brought about")
    suppression: float = Field(0.0, ge=0, le=1, description="the largest share of records that may be left out")
    show: dict[str, Showing] = Field({}, description="confidential columns that each class shows alike, and how")
    epsilon: float | None = Field(None, description="of all private means together; divided equally among them")
    groups: dict[str, tuple[str, ...]] = Field({}, description="named groups of attributes an intruder may know")
    weights: str | None = Field(None, description="the column of sampling weights: people each record stands for")
    text: TextChoice = Field(default_factory=TextChoice.nothing, description="free text that is released")
    attributes: dict[str, AttributeChoice] = {}
    person: str | None = Field(None, description="the column that says whom a record is about; people are then counted")
    missing_person: MissingPerson = Field("refuse", description="who is meant where that column is empty")
    household: str | None = Field(None, description="the column that says who lives together")
    tables: dict[str, TableChoice] = Field({}, description="further tables of the same people, released together")
    consistent: dict[str, str] = Field({}, description="rules that hold between rows and tables, by name")
    pseudonyms: dict[str, PseudonymChoice] = Field({}, description="identifiers of which keyed pseudonyms are released")
    shift: ShiftChoice | None = Field(None, description="dates moved by as many days for each person")
    reading: InstanceOf[Reading] = Field(AS_IT_SEEMS, alias="read", description="how its files are read, as by --read")
    project: ProjectChoice = Field(
        default_factory=ProjectChoice.nothing, description="its table and the names of its files; what only people know"
    )

    _folder: Path | None = PrivateAttr(None)  # of the file that it was read from, if it names others beside it
    _keys: Keys | None = PrivateAttr(None)  # of pseudonyms: goes along, and is never shown or written
    _table: str | None = PrivateAttr(None)  # the name of the file that a release is made of; goes along, is not written

    def __init__(self, **choices: Unpack[Choices]) -> None:
        try:
            super().__init__(**choices)
        except ValidationError as error:
            known = [field.alias or name for name, field in type(self).model_fields.items()]
            raise InputError(policy_fault(error.errors()[0], known)) from None
        for role in ("identifiers", "quasi_identifiers", "confidential", "insensitive"):
            refuse_named_twice(getattr(self, role), role.removesuffix("s"))
        rules_of(self.consistent)

    @field_validator("models", mode="before")
    @classmethod
    def _models(cls, models: Any) -> tuple[PrivacyModel, ...]:
        if not isinstance(models, list | tuple):
            models = (models,)
        return tuple(build(model, MODELS, PrivacyModel) for model in models)

    @field_validator("method", mode="before")
    @classmethod
    def _method(cls, method: Any) -> Method:
        return build(method, METHODS, Method)

    @field_validator("reading", mode="before")
    @classmethod
    def _reading(cls, reading: Any) -> Reading:
        return Reading.of(reading)

    @field_serializer("reading")
    def _dump_reading(self, reading: Reading) -> dict[str, Any]:
        return reading.chosen()

    @field_serializer("models")
    def _dump_models(self, models: tuple[PrivacyModel, ...]) -> list[dict[str, Any]]:
        return [as_table(model, MODELS) for model in models]

    @field_serializer("method")
    def _dump_method(self, method: Method) -> dict[str, Any]:
        return as_table(method, METHODS)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core))
        of = schema["properties"]
        of["models"]["items"] = {"oneOf": table_schemas(MODELS, handler)}
        of["models"]["default"] = [as_table(model, MODELS) for model in cls.model_fields["models"].default]
        of["method"]["oneOf"] = table_schemas(METHODS, handler)
        of["method"]["default"] = as_table(Hilbert(), METHODS)
        of["read"] = entry_schema(Reading, handler) | {"default": {}}
        return schema

    @classmethod
    def read(cls, path: str | Path, *, within: str | Path | None = None, own_code: bool = True) -> Self:
        """From a TOML file; hierarchies and populations are looked for beside it.

        Of a policy that somebody else wrote: `within` is the folder that all files it names must lie in, and without
        `own_code` it can name what is built in or installed, nothing that would have to be imported.
        """
        path = Path(path)
        refuse_pipe(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise InputError(f"The policy {str(path)!r} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError as error:
            raise InputError(f"The policy {str(path)!r} is not valid TOML: {error}.") from None
        return cls.of_text(text, path, within=within, own_code=own_code)

    @classmethod
    def of_text(cls, text: str, path: str | Path, *, within: str | Path | None = None, own_code: bool = True) -> Self:
        """From a text that is to be the file of this path, as `read` reads it."""
        path = Path(path)
        try:
            choices = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # of numbers with thousands of digits, too
            raise InputError(f"The policy {str(path)!r} is not valid TOML: {error}.") from None
        if not own_code:
            refuse_own_code(choices, f"The policy {str(path)!r}")
        files = [*named_files(choices), *named_source(choices)]
        for table, key in files:
            table[key] = beside(table[key], within, path)
        policy = cls(**choices)
        if files:
            policy._folder = path.parent
        return policy

    def refuse_elsewhere(self, path: Path, own: Collection[str]) -> None:
        """Files that the policy of this path names must lie in its folder, but those that the user named as well."""
        for table, key in named_files(self.model_dump()):  # the project's table is read by whoever asks for it alone
            if table[key] not in own:
                or_else = ", or name it yourself (--hierarchies, --k-map 5,population=FILE)"
                inside(Path(table[key]), path.parent, path, or_else)

    @property
    def files(self) -> list[str]:
        """Hierarchies and populations that it names."""
        return [table[key] for table, key in named_files(self.model_dump())]

    def to_toml(self, folder: str | Path | None = None) -> str:
        """What differs from the defaults, as the text of a policy file.

        Files are named as seen from the folder that the text will be kept in: unless given, the one that the policy was
        read from.
        """
        import tomli_w

        content = self.model_dump(exclude_defaults=True, exclude_none=True)
        if not self.reading.chosen():
            del content["read"]
        see_from(folder if folder is not None else self._folder, content)
        return tomli_w.dumps(content)

    def changed(self, **choices: Unpack[Choices]) -> Self:
        """The same policy with these choices in place of its own, validated like a new one."""
        chosen: dict[str, Any] = {**dict(self), **choices}
        policy = type(self)(**chosen)
        policy._folder, policy._keys, policy._table = self._folder, self._keys, self._table
        return policy

    def of_table(self, source: str | Path) -> Self:
        """The same policy, knowing by its file's name which table is released."""
        policy = self.changed()
        policy._table = file_name(source)
        return policy

    @property
    def table_name(self) -> str | None:
        """The name of the table's file, where that is known."""
        return self._table or file_name(self.project.source)

    def label(self, column: str) -> str:
        """What people call a column: as the policy says, otherwise its name."""
        return self.attributes.get(column, AttributeChoice()).label or column

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of consistency, read."""
        return rules_of(self.consistent)

    def owned(self, frame: pl.DataFrame | pl.LazyFrame) -> Owned:
        """The table by whose its rows are, as rules are about it."""
        return owned(frame, self.person, self.household_column)

    @property
    def household_column(self) -> str | None:
        """The column that says who lives together, as the policy or a promise names it."""
        return household_column(self.models, self.household)

    @property
    def shown_attributes(self) -> dict[str, AttributeChoice]:
        """What is declared of each attribute of a released table: a pseudonym is a word, though it look like a date."""
        return {**self.attributes, **dict.fromkeys(self.pseudonyms, AttributeChoice(kind=Kind.NOMINAL))}

    def keyed(self, keys: Keys | bytes) -> Self:
        """The same policy with the secret key of its pseudonyms, which is no part of what it says or writes."""
        policy = self.changed()
        policy._keys = keys if isinstance(keys, Keys) else Keys.of(keys)
        return policy

    @property
    def secret_keys(self) -> Keys:
        """The secret key of its pseudonyms: as given, otherwise the environment's."""
        return self._keys if self._keys is not None else read_keys(None)

    @property
    def identified_by(self) -> tuple[str, ...]:
        """The columns that a secret key replaces, or shifts dates by."""
        return (*self.pseudonyms, *([] if self.shift is None else [self.shifted_by()]))

    def shifted_by(self) -> str:
        """The column whose values have a shift of dates each."""
        assert self.shift is not None
        return self.shift.by(self.pseudonyms, self.person)

    def promises(self, schema: Schema) -> tuple[PrivacyModel, ...]:
        """The models, each about one confidential attribute: one that names none is about all of them.

        Where a column says whom a record is about, they are about people.
        """
        promises: list[PrivacyModel] = []
        models = with_household(self.models, self.household_column)
        models = models if self.person is None else tuple(counting_people(models))
        for model in (model.held_to(self.method) for model in models):
            if self.person is None and "person" in model.needs:
                raise InputError(
                    f"{model.name} counts people: name the column that tells them apart (--person COLUMN)."
                )
            if "confidential" not in model.needs or model.attribute is not None:
                promises.append(model)
                continue
            if not schema.confidential:
                raise InputError(f"{model.name} protects a confidential attribute, but none is named: name one.")
            promises += [model.of(name) for name in schema.confidential]
        for model in promises:
            if model.attribute is not None and model.attribute not in schema.confidential:
                hint = did_you_mean(str(model.attribute), schema.confidential)
                raise InputError(f"{model.name} is asked of {model.attribute!r}, which is not confidential.{hint}")
        return tuple(promises)

    def refuse_suppression(self) -> None:
        """Methods that perturb release every record: the share that may be left out would be ignored."""
        if self.suppression > 0 and self.method.perturbs:
            raise InputError(
                f"The method {self.method.name!r} leaves out no record, but a share of {self.suppression:g} may be: "
                "leave out --suppress (suppression = 0), or choose another method."
            )

    def private_means(self) -> dict[str, PrivateMean]:
        """Those of `show`: epsilon is shared equally, the domains are the policy's own."""
        names = [name for name, by in self.show.items() if by == "private-mean"]
        if self.epsilon is None:
            if names:
                raise InputError(
                    f"The private mean of {names[0]!r} needs a budget: give epsilon, as --show "
                    f"{names[0]}=private-mean:epsilon=1 or in the policy (epsilon = 1.0)."
                )
            return {}
        if not names:
            raise InputError("Epsilon is the budget of private means, but none is shown (--show charge=private-mean).")
        require_epsilon(self.epsilon)
        refuse_several_records(names[0], self.person or self.household_column)
        domains = {name: self.attributes.get(name, AttributeChoice()).domain for name in names}
        return {name: private_mean(name, domains[name], self.epsilon / len(names)) for name in names}

    def schema(  # type: ignore[override]  # pydantic's own of that name is deprecated
        self,
        frame: pl.DataFrame | Mapping[str, pl.Series],
        *,
        released: bool = False,
        counts: Mapping[str, pl.Series] | None = None,
    ) -> Schema:
        """Roles as chosen and kinds as chosen or inferred, for the columns of this table that have a role.

        A released table shows no identifiers, nor what was left out. A column may list each of its values once, with
        how many records have it in `counts`.
        """
        columns = frame.to_dict() if isinstance(frame, pl.DataFrame) else frame
        roles = self.roles(list(columns), released=released)
        known = {name: Valued(columns[name], (counts or {}).get(name)) for name in columns if name in roles}
        person = None if self.person is None else Person(self.person, self.missing_person == "one-each")
        return Schema(tuple(self._attribute(values, roles[name], released) for name, values in known.items()), person)

    def roles(self, columns: Sequence[str], *, released: bool = False) -> dict[str, frozenset[Role]]:
        """column -> its roles, for those of a table that have one."""
        lists = {
            Role.IDENTIFIER: self.identifiers,
            Role.QUASI_IDENTIFIER: self.quasi_identifiers,
            Role.CONFIDENTIAL: self.confidential,
            Role.INSENSITIVE: self.insensitive,
        }
        roles: dict[str, frozenset[Role]] = {}
        known = set(columns)
        for role, names in lists.items():
            for name in names:
                if name not in known:
                    if released and role is Role.IDENTIFIER:
                        continue
                    hint = did_you_mean(name, columns) or f" It has {', '.join(map(repr, columns[:20]))}."
                    raise InputError(f"The table has no column {name!r}, named as {role.replace('_', '-')}.{hint}")
                roles[name] = roles.get(name, frozenset()) | {role}
        give_roles(roles, columns, self.pseudonyms, self.shift if self.rest == "drop" else None)
        allowed = ({Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL},)
        for name, named in roles.items():
            if len(named) > 1 and named not in allowed:
                raise InputError(f"Column {name!r} is named as {' and '.join(sorted(named))}: choose one role.")
        for name, choice in self.attributes.items():
            if name not in known and choice.kind is not Kind.TEXT and not released:
                hint = did_you_mean(name, columns)
                raise InputError(f"The policy describes {name!r}, but the table has no such column.{hint}")
        if self.person is not None:
            roles |= role_of_person(self.person, roles, columns, released=released)
        if (home := self.household_column) is not None:
            roles |= role_of_household(home, roles, columns, released=released)
        texts = (name for name in self.text.columns if name in known and name not in roles)
        roles |= dict.fromkeys(texts, frozenset({Role.INSENSITIVE}))
        if self.rest == "insensitive":
            left = (name for name in columns if name not in roles and name != self.weights)
            roles |= dict.fromkeys(left, frozenset({Role.INSENSITIVE}))
        return roles

    def _shows_values(self, column: pl.Series, roles: frozenset[Role], released: bool) -> bool:
        """Whether the column holds values, not masks of them: a released one that no class shows alike."""
        masked = Role.QUASI_IDENTIFIER in roles or column.name in self.show
        return not (released and masked)

    def builds(self, name: str) -> bool:
        """Whether the method needs a hierarchy of this column and none is given: one is built of its values."""
        choice = self.attributes.get(name, AttributeChoice())
        return choice.hierarchy is None and name in self.quasi_identifiers and "hierarchies" in self.method.needs

    def built_trees(self, schema: Schema) -> list[Hierarchy]:
        """The hierarchies that were built of the table's values because none is given."""
        trees = ((name, schema[name].hierarchy) for name in schema.quasi_identifiers)
        return [tree for name, tree in trees if tree is not None and self.builds(name)]

    def _attribute(self, values: Valued, roles: frozenset[Role], released: bool) -> Attribute:
        column = values.column
        if Role.PSEUDONYM in roles:
            return Attribute(column.name, roles, Kind.NOMINAL)
        choice = self.attributes.get(column.name, AttributeChoice())
        k = max((model.smallest_class for model in self.models), default=1)
        if self.builds(column.name) and not released:
            return built_attribute(values, roles, choice.kind, choice.domain, choice.weight, k)
        shows_values = self._shows_values(column, roles, released)
        return chosen_attribute(values, roles, choice, k, released=released, shows_values=shows_values)
