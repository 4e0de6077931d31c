"""The plan: the role of each column, the privacy models, and the limits of loss. It is checked here, once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, InstanceOf, ValidationInfo

from veil import lattice
from veil import quality as qualities
from veil.base.declare import declared, show_value
from veil.base.keys import KeyReference
from veil.errors import NOTHING, ParameterError, PlanError, Say, Words, did_you_mean
from veil.lattice import Auto, Strategy
from veil.models import KAnonymity, PrivacyModel
from veil.models.item_sets import KMAnonymity
from veil.plan.owners import check_models_of_people
from veil.plan.parameters import hierarchy_builder
from veil.plan.recoding import FullDomain, Recoding, by_name, check_recoding
from veil.quality import Loss, QualityModel
from veil.tables.rows import Knows
from veil.tables.spelling import PERSON

Treatment = Literal["remove", "mask", "pseudonym"]
Aggregation = Literal["mean", "geometric mean", "median", "mode", "interval", "set"]
Role = Literal["identifying", "quasi-identifying", "sensitive", "insensitive", "dropped"]

ASK = "ask"
"""Value of `person` until it is known whose the rows are."""


class Option(NamedTuple):
    """Details of a field for the command line, beyond its name, type and description."""

    flag: str | None = None
    """Flag, if it does not follow from the name of the field."""
    metavar: str | None = None
    about: str | None = None
    """Replaces the description where that is about Python."""
    hint: str = ""
    """How to write it, in markup of Rich."""
    panel: str | None = None
    """The heading above it, if it is not that of a plan."""


def _hierarchies(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise PlanError(
            "`quasi_identifiers` should map each column to its hierarchy, for example "
            f'{{"age": h.intervals(5, 10)}}; h.auto() proposes one. Got {show_value(value)}'
        )
    return {str(name): hierarchy_builder(each) for name, each in value.items()}


def _items(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise PlanError(
            "`items` should map each column of items to their hierarchy, or to None, for example "
            f'{{"drugs": h.read("drugs.csv")}}. Got {show_value(value)}'
        )
    return {str(name): None if each is None else hierarchy_builder(each) for name, each in value.items()}


def _names(value: Any, info: ValidationInfo) -> Any:
    names = [value] if isinstance(value, str) else _as_list(value)
    if names is None or not all(isinstance(each, str) for each in names):
        raise ParameterError(
            f"`{info.field_name}` should be the name of a column or a list of names, not {show_value(value)}"
        )
    return names


def _identifying(value: Any, info: ValidationInfo) -> Any:
    return value if isinstance(value, Mapping) else dict.fromkeys(_names(value, info), "remove")


def _quality(value: Any) -> Any:
    model = qualities.by_name(value) if isinstance(value, str) else value
    return _of_kind(
        QualityModel, model, "`quality` should be a quality model or its name, for example Loss() or 'loss'"
    )


def _strategy(value: Any) -> Any:
    strategy = lattice.by_name(value) if isinstance(value, str) else value
    return _of_kind(
        Strategy, strategy, "`strategy` should be a search strategy or its name, for example Auto() or 'auto'"
    )


def _recoding(value: Any) -> Any:
    recoding = by_name(value) if isinstance(value, str) else value
    rule = "`recoding` should be a way of recoding or its name, for example Cells() or 'cells'"
    return _of_kind(Recoding, recoding, rule)


def _of_kind(kind: type[Any], value: Any, rule: str) -> Any:
    if not isinstance(value, kind):
        raise ParameterError(f"{rule}, not {show_value(value)}")
    return value


def _models(value: Any) -> Any:
    models = [value] if isinstance(value, PrivacyModel) else _as_list(value)
    for each in [value] if models is None else models:
        _of_kind(
            PrivacyModel,
            each,
            "`models` should be a privacy model or a list of them, for example KAnonymity(5)",
        )
    if not models:
        raise ParameterError("`models` should have at least 1 item, for example KAnonymity(5), not 0")
    return models


def _as_list(value: Any) -> list[Any] | None:
    """Return the elements of a list or another iterable; None of anything else."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | type)
    return list(value) if is_list else None


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
LevelsByName = dict[str, Annotated[int, Field(ge=0)]]

_MOST_CHECKS = 2**62
"""More than any search makes; larger numbers overflow where checks are counted."""

_ROLES: Words = (
    Say("quasi_identifiers"),
    ", ",
    Say("sensitive"),
    ", ",
    Say("insensitive"),
    " or ",
    Say("identifying"),
    ", or say ",
    Say("others", "keep"),
    " or ",
    Say("others", "drop"),
    " for all such columns",
)


@declared
class Plan:
    """What to do with a table. Every field is a keyword of `veil.anonymize`, a name in recipes and an option.

    >>> from veil import KAnonymity
    >>> Plan({"sex": "suppression"}, KAnonymity(2), sensitive=["diagnosis"]).role_of("diagnosis")
    'sensitive'
    """

    quasi_identifiers: Annotated[
        dict[str, Any],
        BeforeValidator(_hierarchies),
        Field(description="columns that an attacker may know, each with the hierarchy that generalizes it"),
        Option("--qi", "COLUMN=HIERARCHY", hint="A hierarchy is a kind or a file. Repeat for more."),
    ]
    models: Annotated[
        tuple[InstanceOf[PrivacyModel], ...],
        BeforeValidator(_models),
        Field(min_length=1, description="privacy models; the release satisfies all of them"),
        Option("--model", "MODEL", hint="Repeat for more."),
    ]
    microaggregated: Annotated[
        dict[str, Aggregation],
        Field(
            description="quasi-identifiers for which one value per class is published. Those with a hierarchy "
            "(named in `quasi_identifiers` as well) form classes together with the others; those without do not"
        ),
        Option("--microaggregate", "COLUMN=mean|median|…", hint="Such as [cyan]age=mean[/cyan]."),
    ] = Field(default_factory=dict)
    sensitive: Annotated[
        Names, Field(description="columns whose values an attacker must not learn"), Option(metavar="COLUMNS")
    ] = ()
    insensitive: Annotated[
        Names, Field(description="columns that are published unchanged"), Option(metavar="COLUMNS")
    ] = ()
    identifying: Annotated[
        dict[str, Treatment],
        BeforeValidator(_identifying),
        Field(
            description="columns that name a person: removed, or masked cell by cell. The one that tells people apart may become "
            "random pseudonyms instead"
        ),
        Option(metavar="COLUMNS", hint="To mask: [cyan]name=mask[/cyan]."),
    ] = Field(default_factory=dict)
    items: Annotated[
        dict[str, Any],
        BeforeValidator(_items),
        Field(
            description="sensitive columns that hold sets, whose items are generalized by a hierarchy or left out, one by one, "
            "until KMAnonymity of the column holds; null: items stay or are left out"
        ),
        Option(
            "--items", "COLUMN[=HIERARCHY]", hint="Goes with [cyan]--model km-anonymity:COLUMN,5,2[/cyan]."
        ),
    ] = Field(default_factory=dict)
    person: Annotated[
        str | None,
        *PERSON,
        Field(
            description="column that tells people apart, if somebody may have several rows: every model and limit then "
            "counts people. It is identifying, and so removed. null: every row is a different person. Where values "
            "differ in blanks, case or Unicode form only, COLUMN=folded says that they are the same person, and "
            "COLUMN=as written that they are not"
        ),
        Option(metavar="COLUMN", hint="To say that every row is a person: [cyan]null[/cyan]."),
    ] = ASK
    pseudonym_key: Annotated[
        str | None,
        Field(
            min_length=1,
            description="where the secret key of pseudonyms is: a file, or env:NAME for an environment variable. The same "
            "person then has the same pseudonym in every release; without a key, pseudonyms are random",
        ),
        KeyReference,
        Option(metavar="FILE"),
    ] = None
    knows: Annotated[
        Knows,
        Field(
            description="what an attacker may know about a person with several rows: the quasi-identifiers of one row or of all rows"
        ),
    ] = "one row"
    others: Annotated[
        Literal["keep", "drop"] | None,
        Field(description="what to do with columns that have no role; without it they are refused"),
    ] = None
    recoding: Annotated[
        InstanceOf[Recoding],
        BeforeValidator(_recoding),
        Field(
            description="how labels are chosen, by name or with settings: full-domain (one level for a column), subtree "
            "(one label for each value) or cells (each record by itself)"
        ),
        Option(
            metavar="RECODING",
            about="how labels are chosen: full-domain (one level for a column), subtree (one label for each value), cells "
            "(each record by itself), or a mode such as fast-iterative:0.01 for records that would stay suppressed",
            hint="See [cyan]veil list recodings[/cyan].",
        ),
    ] = Field(default_factory=FullDomain)
    quality: Annotated[
        InstanceOf[QualityModel],
        BeforeValidator(_quality),
        Field(description="what the search minimizes, by name or as a quality model"),
        Option(
            metavar="QUALITY",
            about="what the search minimizes",
            hint="See [cyan]veil list quality-models[/cyan].",
        ),
    ] = Field(default_factory=Loss)
    suppression_limit: Annotated[
        float,
        Field(ge=0, le=1, description="largest share of records that may be suppressed"),
        Option(metavar="SHARE", hint="From 0 to 1."),
    ] = 0.0
    minimum_levels: Annotated[
        LevelsByName,
        Field(description="minimum level of generalization, by column"),
        Option("--minimum-level", "COLUMN=LEVEL"),
    ] = Field(default_factory=dict)
    maximum_levels: Annotated[
        LevelsByName,
        Field(description="maximum level of generalization, by column"),
        Option("--maximum-level", "COLUMN=LEVEL"),
    ] = Field(default_factory=dict)
    strategy: Annotated[
        InstanceOf[Strategy],
        BeforeValidator(_strategy),
        Field(description="how to search, by name or as a strategy"),
        Option(metavar="STRATEGY", about="how to search", hint="See [cyan]veil list strategies[/cyan]."),
    ] = Field(default_factory=Auto)
    time_limit: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=True,  # the way to let any strategy search to its end
            description="seconds after which the search returns the best transformation so far; without it and without `check_limit`, optimal search runs to the end; every other strategy, subtree and cells for at most 30 seconds",
        ),
        Option(metavar="SECONDS"),
    ] = None
    check_limit: Annotated[
        int | None,
        Field(
            gt=0,
            description="number of checked transformations after which the search returns the best so far",
        ),
        Option(metavar="N"),
    ] = None
    suppressed_rows: Annotated[
        Literal["blank", "keep cells", "drop"],
        Field(
            description="what to do with suppressed rows: blank every cell; blank only quasi-identifiers, if these rows satisfy every model as a class of their own; or drop the rows"
        ),
    ] = "blank"
    choose_by: Annotated[
        Literal["all columns", "quasi-identifiers"],
        Field(
            description="what the transformation is chosen by: all columns, or only quasi-identifiers, so that the choice reveals nothing about sensitive values; if these are then not protected, there is no release"
        ),
    ] = "all columns"
    marker: Annotated[
        str | None,
        Field(
            description="text of a suppressed cell in a text column; None writes a missing value there too"
        ),
        Option(metavar="TEXT", about="text of a suppressed cell in a text column"),
    ] = "*"
    order: Annotated[
        Literal["random", "input"],
        Field(
            description="order of the rows: random, or as in the input, which reveals what neighbouring rows have in common"
        ),
    ] = "random"

    def __post_init__(self) -> None:
        if not self.quasi_identifiers:
            raise PlanError("the plan has no quasi-identifier: name at least one column an attacker may know")
        self._check_person()
        self._check_pseudonyms()
        role_by_name: dict[str, str] = {}
        for role, names in self.roles.items():
            for name in names:
                if name in role_by_name:
                    raise PlanError(*self._two_roles(name, role_by_name[name], role))
                role_by_name[name] = role
        for model in self.models:
            for name in model.attribute_names:
                if name not in self.sensitive:
                    raise PlanError(f"{model} refers to column {name!r}, ", *self._why_not_sensitive(name))
        for parameter in ("minimum_levels", "maximum_levels"):
            for name in getattr(self, parameter):
                if name not in self.quasi_identifiers:
                    hint = did_you_mean(name, self.quasi_identifiers)
                    raise PlanError(f"`{parameter}` names {name!r}, which is not a quasi-identifier.{hint}")
        for name, least in self.minimum_levels.items():
            most = self.maximum_levels.get(name, least)
            if least > most:
                raise PlanError(f"minimum level {least} of {name!r} is above its maximum level {most}")

        check_recoding(self)
        if self.choose_by == "quasi-identifiers":
            self._check_blind()
        for model in self.models:
            if model.protects_absence and self.suppressed_rows == "drop" and self.suppression_limit > 0:
                raise PlanError(
                    f"{model} promises a minimum probability of being in the release, but dropped rows "
                    "would show who is not in it. Blank these rows instead (",
                    Say("suppressed_rows", "blank"),
                    "), or allow no suppression: a ",
                    Say("suppression_limit"),
                    " of 0",
                )
            if self.microaggregated and (model.reads != "records" or model.subset is not None):
                raise PlanError(
                    f"{model} compares the labels of generalized values, which microaggregated columns do not show: "
                    "generalize them instead"
                )

    def _check_pseudonyms(self) -> None:
        """Allow pseudonyms only where people are counted and attackers know which rows belong together."""
        if self.pseudonym_key is not None and "pseudonym" not in self.identifying.values():
            raise PlanError(
                Say("pseudonym_key"),
                " is for pseudonyms, but no column gets any: make pseudonyms of the column that tells "
                "people apart with ",
                Say("identifying"),
            )
        for name in [name for name, how in self.identifying.items() if how == "pseudonym"]:
            if name != self.person_column:
                raise PlanError(
                    f"identifying column {name!r} would get pseudonyms, which show which rows have the same "
                    "value: only the column that tells people apart can have them (",
                    Say("person", name),
                    "), because models then take it into account. `veil.mask` makes pseudonyms of any "
                    "column, without a promise",
                )
            if self.knows != "all rows":
                raise PlanError(
                    f"pseudonyms of {name!r} show which rows belong to one person, so anyone who knows one "
                    "row finds all of them: assume that an attacker knows all rows (",
                    Say("knows", "all rows"),
                    ")",
                )

    def _check_person(self) -> None:
        """Make the column that distinguishes people identifying, without it being listed."""
        if self.person_column is not None:
            if self.person_column not in self.identifying:
                treated = {**self.identifying, self.person_column: "remove"}
                object.__setattr__(self, "identifying", treated)
            check_models_of_people(self.models, self.knows)
            if self.order == "input" and self.knows != "all rows":
                raise PlanError(
                    "in the order of the input, the rows of a person are next to each other, so anyone who "
                    "knows one row may find all of them: use a random order (",
                    Say("order", "random"),
                    "), or assume that an attacker knows all rows (",
                    Say("knows", "all rows"),
                    ")",
                )
        elif self.person == ASK and self.over_neighbours:
            model_name = next(type(model).__name__ for model in self.models if model.over_neighbours)
            raise PlanError(
                f"{model_name} promises something to every person, and looks at no cell to find out whose rows there are: say that "
                "every row is a different person (",
                Say("person", NOTHING),
                "), or which column tells people apart (such as ",
                Say("person", "patient"),
                f"), of each of whom at most `rows_per_person` rows of {model_name} then take part",
            )
        elif self.person == ASK and self.knows != "one row":
            raise PlanError(
                Say("knows", self.knows),
                " is for people with several rows: name the column that tells people apart in ",
                Say("person"),
            )

    @property
    def over_neighbours(self) -> bool:
        """Whether it promises something over neighbouring tables, so that nothing may follow from one cell."""
        return any(model.over_neighbours for model in self.models)

    @property
    def searched_models(self) -> tuple[PrivacyModel, ...]:
        """The models that the search checks: for sets whose items are generalized later, k-anonymity."""
        return tuple(
            KAnonymity(model.k) if isinstance(model, KMAnonymity) and model.attribute in self.items else model
            for model in self.models
        )

    def check_items(self) -> None:
        """Refuse items without a model of their combinations, or with models of whole sets."""
        for name in self.items:
            models = [model for model in self.models if name in model.attribute_names]
            sets = [model for model in models if isinstance(model, KMAnonymity)]
            if name not in self.sensitive or len(sets) != 1:
                raise PlanError(
                    f"items of {name!r} are generalized until a model is satisfied: add the column to ", Say("sensitive"),
                    f" and KMAnonymity({name!r}, 5, 2) to ", Say("models"),
                )  # fmt: skip
            for model in models:
                if model is not sets[0]:
                    raise PlanError(
                        f"{model} refers to whole sets, but items of {name!r} are generalized: leave it out"
                    )
            if self.choose_by == "quasi-identifiers":
                raise PlanError(
                    Say("choose_by", "quasi-identifiers"), " uses no other columns, but how items of "
                        f"{name!r} are generalized depends on all of them: leave ", Say("items"), " out, or choose by all columns",
                )  # fmt: skip
            if self.suppressed_rows == "keep cells":
                raise PlanError(
                    "items of suppressed records are not published: with ", Say("items"), ", say ",
                    Say("suppressed_rows", "blank"), " or ", Say("suppressed_rows", "drop"),
                )  # fmt: skip

    @property
    def person_column(self) -> str | None:
        """The column that distinguishes people; None if every row is a person, or it is undecided."""
        return None if self.person == ASK else self.person

    @property
    def blind_models(self) -> tuple[PrivacyModel, ...]:
        """The models of quasi-identifiers alone."""
        return tuple(model for model in self.models if not model.attribute_names)

    def _check_blind(self) -> None:
        """Refuse options for which a choice by quasi-identifiers alone would have to read other columns."""
        if not self.blind_models:
            raise PlanError(
                Say("choose_by", "quasi-identifiers"),
                " needs a model of quasi-identifiers alone, which determines how large classes are, for "
                "example KAnonymity(10)",
            )
        if self.suppression_limit:
            raise PlanError(
                Say("choose_by", "quasi-identifiers"),
                " proves nothing about suppressed records, whose values would affect whether there is a "
                "release: allow no suppression (",
                Say("suppression_limit", "0"),
                "), and remove rare combinations from the table beforehand",
            )
        for name in self.quality.attribute_names:
            raise PlanError(
                f"{self.quality} reads column {name!r}: choose by another quality, or by all columns (",
                Say("choose_by", "all columns"),
                ")",
            )
        for model in self.models:
            if model.subset is not None:
                raise PlanError(
                    f"{model} selects the rows to release, about which a choice by quasi-identifiers proves "
                    "nothing: leave it out, or choose by all columns (",
                    Say("choose_by", "all columns"),
                    ")",
                )

    def _two_roles(self, name: str, first: str, second: str) -> Words:
        if first == second:
            return (f"column {name!r} is named twice in ", Say(second), ": leave one out")
        if first == "quasi-identifying" and name not in self.quasi_identifiers:
            return (
                f"column {name!r} stands in ",
                Say("microaggregated"),
                ", which makes it a quasi-identifier, and cannot be ",
                f"{second} as well: take it out of ",
                Say("microaggregated"),
                " or of ",
                Say(second),
                ". veil.mask microaggregates a column whatever its role",
            )
        return (f"column {name!r} cannot be both {first} and {second}",)

    def _why_not_sensitive(self, name: str) -> Words:
        role = next((role for role, names in self.roles.items() if name in names), None)
        if role == "quasi-identifying":
            where = "quasi_identifiers" if name in self.quasi_identifiers else "microaggregated"
            return (
                "which is a quasi-identifier, and a column cannot be both that and sensitive: take it out of ",
                Say(where),
                " and add it to ",
                Say("sensitive"),
                ", or have the model speak of another column",
            )
        if role is not None:
            reason = f"which is {role}, not sensitive: take it out of "
            return reason, Say(role), " and add it to ", Say("sensitive")
        hint = f".{did_you_mean(name, self.sensitive)}" if self.sensitive else ""
        return "which is not sensitive: add it to ", Say("sensitive"), f", or correct its name{hint}"

    @property
    def aggregated(self) -> tuple[str, ...]:
        """Microaggregated quasi-identifiers that do not take part in forming classes."""
        return tuple(name for name in self.microaggregated if name not in self.quasi_identifiers)

    @property
    def seconds(self) -> float:
        """Seconds until a search ends. A limit of checks replaces them: all machines then find the same."""
        if self.time_limit is None:
            if self.recoding.time_limit is not None:
                return self.recoding.time_limit
            return self.strategy.time_limit if self.check_limit is None else math.inf
        return self.time_limit

    @property
    def checks(self) -> float:
        """Checks after which a search ends."""
        return math.inf if self.check_limit is None else min(self.check_limit, _MOST_CHECKS)

    @property
    def roles(self) -> dict[Role, tuple[str, ...]]:
        """Columns by role."""
        return {
            "quasi-identifying": (*self.quasi_identifiers, *self.aggregated),
            "sensitive": self.sensitive,
            "insensitive": self.insensitive,
            "identifying": tuple(self.identifying),
        }

    def role_of(self, column: str) -> Role:
        """Return the role of a column; columns without one follow `others`."""
        for role, names in self.roles.items():
            if column in names:
                return role
        if self.others is None:
            raise PlanError(f"column {column!r} has no role. Name it with ", *_ROLES)
        return "insensitive" if self.others == "keep" else "dropped"

    def check_columns(self, columns: Sequence[str]) -> None:
        """Refuse a table that lacks a column of the plan, or has one without a role."""
        for role, names in self.roles.items():
            for name in names:
                if name not in columns:
                    raise PlanError(
                        f"the table has no column {name!r}, which the plan calls {role}.{did_you_mean(name, columns)}"
                    )
        if self.person == ASK and ASK in columns:
            raise PlanError(
                f"column {ASK!r} has the name by which `person` says that nobody has said what tells people "
                "apart: rename it, or say what `person` is (None, null in recipes: every row is a different person)"
            )
        if self.others is None:
            missing = [column for column in columns if column not in self._assigned]
            if len(missing) > 1:
                names_without_role = ", ".join(repr(name) for name in missing)
                raise PlanError(f"columns {names_without_role} have no role. Name each with ", *_ROLES)
            for column in missing:
                self.role_of(column)

    @property
    def _assigned(self) -> set[str]:
        return {name for names in self.roles.values() for name in names}
