"""Loads the configuration from defaults, YAML file, environment and flags, and reports all errors at once.

Each source overrides the previous one. A key is `section.option`; its environment variable is
`LAGWARDEN_SECTION_OPTION`. A secret can be read from a file, such as a mounted Kubernetes Secret, named by
`section.option_file` or `LAGWARDEN_SECTION_OPTION_FILE`.
"""

import dataclasses
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import yaml
from pydantic import ValidationError

from stream.config.object_address import shown_address
from stream.config.options import SECRETS, SECTIONS, Config, OptionSection, contradictions_between
from stream.config.secret_sources import Secret, SecretEntry, SecretFile, SecretUnavailable, SecretVariable
from stream.errors import ExitCode, Refusal

SectionT = TypeVar("SectionT", bound=OptionSection)

PREFIX: Final = "LAGWARDEN_"
_OTHER_VARIABLES: Final = frozenset((
    "LAGWARDEN_CACHE", "LAGWARDEN_CONFIG", "LAGWARDEN_URL", "LAGWARDEN_USER", "LAGWARDEN_PASSWORD",
    "LAGWARDEN_PASSWORD_FILE", "LAGWARDEN_TOKEN_FILE", "LAGWARDEN_CA_FILE",
))  # fmt: skip
"""Variables that are not options: cache directory, configuration file, and those of commands that ask an instance."""
# Kubernetes sets variables for each service in every pod, and a service may be named lagwarden.
_SERVICE_LINK: Final = re.compile(r"_SERVICE_(HOST|PORT)(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)(_|$)")
_SERVICE_ADDRESS: Final = re.compile(r"(tcp|udp|sctp)://")

KEYS: Final = tuple(f"{name}.{option}" for name, section in SECTIONS.items() for option in section.model_fields)
_MAPPINGS: Final = frozenset({"kafka.oauth_extensions", "job.spark_options", "otlp.resource_attributes"})
_URLS: Final = frozenset({
    "kafka.oauth_token_endpoint", "checkpoint.s3_endpoint", "http.external_url", "http.grafana_url",
    "http.runbook_url", "http.siblings", "webhook.url", "otlp.endpoint",
})  # fmt: skip
# Values that errors do not print. SASL extensions may hold passwords under names that cannot be enumerated, and a URL
# may have one.
_NOT_SHOWN: Final = SECRETS | _MAPPINGS | _URLS
_REMOVED: Final = dict.fromkeys(
    ("kafka.consumer_options", "job.connector_jars"),
    "is no longer an option, because lagwarden reads with its own client instead of Spark's Kafka source; remove it",
)
_FIELD_FAULTS: Final = {"extra_forbidden": "no such field", "missing": "is required"}
"""Problems with a field of an entry in a list, by pydantic's type of the error."""
_FILE_KEYS: Final = {f"{key}_file": key for key in SECRETS}


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigFault:
    """One error in the configuration. `value` is None if there is none to print, or if it may be a secret."""

    key: str
    problem: str
    origin: str
    value: object = None

    def __str__(self) -> str:
        """Return the error on one line."""
        shown = "" if self.value is None else f" = {self.value!r}"
        return f"{self.key}{shown} ({self.origin}): {self.problem}"


class ConfigRefusal(Refusal):
    """The configuration is invalid; `faults` holds all errors in it."""

    code = ExitCode.USAGE

    def __init__(self, faults: Iterable[ConfigFault]) -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        summary = f"the configuration has {count} error{'s' if count > 1 else ''}"
        lines = "".join(f"\n  {fault}" for fault in self.faults)
        super().__init__(summary + lines, "see docs/config.md")


@dataclasses.dataclass(frozen=True, slots=True)
class _Setting:
    value: object
    origin: str


def load(
    file: Path | None = None, environment: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
) -> Config:
    """Build the configuration from a file, environment variables and flags (key -> value); later sources win.

    Raises ConfigRefusal with all errors.
    """
    return Config.model_validate(_sections(tuple(SECTIONS), file, environment, flags))


def load_section(
    section: type[SectionT],
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> SectionT:
    """Build one section from the same sources as `load`; no option of another section has to be set or valid.

    Raises ConfigRefusal with all errors of the section, and with all unknown names in the sources.
    """
    name = next(name for name, kind in SECTIONS.items() if kind is section)
    return cast("SectionT", _sections((name,), file, environment, flags)[name])


def _sections(
    names: Collection[str], file: Path | None, environment: Mapping[str, str] | None, flags: Mapping[str, object] | None
) -> dict[str, OptionSection]:
    """Build the named sections. Raises ConfigRefusal with all errors."""
    faults: list[ConfigFault] = []
    settings: dict[str, _Setting] = {}
    from_flags = [
        (key, _Setting(_from_text(key, value) if isinstance(value, str) else value, "command line"))
        for key, value in (flags or {}).items()
    ]
    for layer in (_from_file(file, faults), _from_environment(environment or {}, faults), from_flags):
        settings.update(_resolve_keys(layer, names, faults))
    sections = {name: _build_section(name, settings, faults) for name in names}
    for name, option, problem in contradictions_between(sections):
        faults.append(_option_fault(f"{name}.{option}", problem, settings))
    if faults:
        raise ConfigRefusal(faults)
    return {name: section for name, section in sections.items() if section is not None}


def _from_file(path: Path | None, faults: list[ConfigFault]) -> Iterator[tuple[str, _Setting]]:
    if path is None:
        return
    origin = f"file {path}"
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        faults.append(ConfigFault(str(path), f"cannot be read: {reason}", "configuration file"))
        return
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = f"is not valid YAML: {getattr(error, 'problem', None) or error}{where}"
        faults.append(ConfigFault(str(path), problem, "configuration file"))
        return
    for section, options in _mapping(str(path), tree, "configuration file", faults):
        if section not in SECTIONS:
            faults.append(ConfigFault(section, f"no such section; {_suggestion(section, SECTIONS)}", origin))
            continue
        for option, value in _mapping(section, options, origin, faults):
            key = f"{section}.{option}"
            yield key, _Setting(_by_reference(key, value, SecretEntry(path.absolute(), key)), origin)


def _mapping(key: str, value: object, origin: str, faults: list[ConfigFault]) -> list[tuple[str, object]]:
    """Return the items of a mapping; an empty section (None) has none. Adds an error if the value is not a mapping."""
    if isinstance(value, dict):
        return [(str(name), item) for name, item in value.items()]
    if value is not None:
        # Without the value, which may contain the passwords of the section.
        faults.append(ConfigFault(key, "must be a mapping of names to values", origin))
    return []


def _from_environment(environment: Mapping[str, str], faults: list[ConfigFault]) -> Iterator[tuple[str, _Setting]]:
    names = {environment_variable(key): key for key in (*KEYS, *_FILE_KEYS, *_REMOVED)}
    for variable, value in sorted(environment.items()):
        if not variable.startswith(PREFIX) or variable in _OTHER_VARIABLES or _SERVICE_ADDRESS.match(value):
            continue
        if variable in names:
            parsed = _by_reference(names[variable], _from_text(names[variable], value), SecretVariable(variable))
            yield names[variable], _Setting(parsed, f"variable {variable}")
        elif not _SERVICE_LINK.search(variable):
            faults.append(ConfigFault(variable, f"no such variable; {_suggestion(variable, names)}", "environment"))


def _by_reference(key: str, value: object, place: Secret) -> object:
    """Return the place of a secret instead of its text; any other value unchanged, so that its type is checked."""
    return place if key in SECRETS and isinstance(value, str) else value


def environment_variable(key: str) -> str:
    """Return the environment variable of a key."""
    return PREFIX + key.replace(".", "_").upper()


def _from_text(key: str, value: str) -> object:
    """Parse `a=1,b=2` for an option that is a mapping; pydantic parses the text of all others, and refuses a mapping.

    What has no equals sign may be part of a secret with a comma, and must not become a name, which errors print.
    """
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    if key not in _MAPPINGS or not all(equals for _, equals, _ in pairs):
        return value
    return {name.strip(): text.strip() for name, _, text in pairs}


def _resolve_keys(
    layer: Iterable[tuple[str, _Setting]], sections: Collection[str], faults: list[ConfigFault]
) -> dict[str, _Setting]:
    """Return the settings of the named sections, with the files of secrets. Adds an error per unknown key."""
    resolved: dict[str, _Setting] = {}
    for key, setting in layer:
        target = _FILE_KEYS.get(key, key)
        if target not in KEYS:
            problem = _REMOVED.get(key) or f"no such option; {_suggestion(key, KEYS)}"
            faults.append(ConfigFault(key, problem, setting.origin))
        elif target.partition(".")[0] not in sections:
            continue
        elif target in resolved:
            faults.append(ConfigFault(target, f"is set twice: directly and as {target}_file", setting.origin))
        elif target is key:
            resolved[key] = setting
        else:
            place = SecretFile(Path(str(setting.value)).absolute())
            try:
                place.reveal()
            except SecretUnavailable as error:
                problem = error.what.removeprefix(f"{place.path} ")
                faults.append(ConfigFault(key, problem, setting.origin, setting.value))
            else:
                resolved[target] = _Setting(place, f"file {setting.value}")
    return resolved


def _build_section(name: str, settings: Mapping[str, _Setting], faults: list[ConfigFault]) -> OptionSection | None:
    """Build one section. Adds its errors and returns None if a value is invalid."""
    given = {key.partition(".")[2]: setting.value for key, setting in settings.items() if key.startswith(f"{name}.")}
    try:
        section = SECTIONS[name].model_validate(given)
    except ValidationError as error:
        faults.extend(_pydantic_fault(name, dict(problem), settings) for problem in error.errors(include_url=False))
        return None
    faults.extend(_option_fault(f"{name}.{option}", problem, settings) for option, problem in section.contradictions())
    return section


def _pydantic_fault(section: str, problem: Mapping[str, Any], settings: Mapping[str, _Setting]) -> ConfigFault:
    option, *inner = problem["loc"]
    key = f"{section}.{option}"
    entry = f"entry {inner[0] + 1}, {inner[1]}: " if len(inner) > 1 and isinstance(inner[0], int) else ""
    if problem["type"] == "missing" and not inner:
        advice = f"is required: set it in the file, in {environment_variable(key)}, or by --set {key}=VALUE"
        return ConfigFault(key, advice, "not set")
    text = _FIELD_FAULTS.get(problem["type"], problem["msg"]) if entry else problem["msg"]
    if problem["type"] == "dict_type":
        text = "must be pairs NAME=VALUE with commas between them"
    text = re.sub(r"^(Input|String|Path|Value) should ", "must ", text.removeprefix("Value error, "))
    return _option_fault(key, entry + text, settings)


def _option_fault(key: str, problem: str, settings: Mapping[str, _Setting]) -> ConfigFault:
    setting = settings.get(key)
    if setting is None:
        return ConfigFault(key, problem, "default or not set")
    value = shown_address(setting.value) if isinstance(setting.value, str) else setting.value
    return ConfigFault(key, problem, setting.origin, None if key in _NOT_SHOWN else value)


def _suggestion(word: str, choices: Iterable[str]) -> str:
    """Return a hint: the most similar valid name, or the page that lists all names."""
    near = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else "see docs/config.md for all"
