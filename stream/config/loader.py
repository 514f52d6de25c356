"""Reads the configuration: defaults < YAML file < environment < flags; every fault is reported at once.

Owns where values come from and how a fault is worded. A key is `section.option`; in the environment it is
`LAGWARDEN_SECTION_OPTION`. A secret can stand in a file of its own, named by `..._file` or `LAGWARDEN_..._FILE`, as
mounted secrets are.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import yaml
from pydantic import ValidationError

from stream.config.options import SECRETS, SECTIONS, Config, OptionSection
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

SectionT = TypeVar("SectionT", bound=OptionSection)

PREFIX: Final = "LAGWARDEN_"
# Variables of that prefix that are no options: where the cache of jars lies, and the file itself.
_OTHER_VARIABLES: Final = frozenset({"LAGWARDEN_CACHE", "LAGWARDEN_CONFIG"})
# Kubernetes tells each pod about each service, and a service may well be named lagwarden.
_SERVICE_LINK: Final = re.compile(r"_SERVICE_(HOST|PORT)(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)(_|$)")
_SERVICE_ADDRESS: Final = re.compile(r"(tcp|udp|sctp)://")

KEYS: Final = tuple(f"{name}.{option}" for name, section in SECTIONS.items() for option in section.model_fields)
# Values that faults do not show. Options of a Kafka client may be passwords under names that nobody can list.
_NOT_SHOWN: Final = SECRETS | {"kafka.consumer_options"}
_FILE_KEYS: Final = {f"{key}_file": key for key in SECRETS}


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigFault:
    """One thing wrong with the configuration. `value` is None where there is none to show, or where it is a secret."""

    key: str
    problem: str
    origin: str
    value: object = None

    def __str__(self) -> str:
        """Say it on one line."""
        shown = "" if self.value is None else f" = {self.value!r}"
        return f"{self.key}{shown} ({self.origin}): {self.problem}"


class ConfigRefusal(Refusal):
    """The configuration cannot be used; `faults` holds everything that is wrong with it."""

    code = ExitCode.USAGE

    def __init__(self, faults: Iterable[ConfigFault]) -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        what = f"the configuration has {count} fault{'s' if count > 1 else ''}"
        lines = "".join(f"\n  {fault}" for fault in self.faults)
        super().__init__(what + lines, "see docs/config.md")


@dataclasses.dataclass(frozen=True, slots=True)
class _Setting:
    value: object
    origin: str


def load(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Config:
    """Build the configuration from a file, environment variables and flags (key -> value), each stronger than the last.

    Raises ConfigRefusal with all faults.
    """
    return Config.model_validate(_sections(tuple(SECTIONS), file, environment, flags))


def load_section(
    section: type[SectionT],
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> SectionT:
    """Build one section from the same sources as `load`; no option of another section has to be set or valid.

    Raises ConfigRefusal with all faults of the section, and with all unknown names in the sources.
    """
    name = next(name for name, kind in SECTIONS.items() if kind is section)
    return cast("SectionT", _sections((name,), file, environment, flags)[name])


def _sections(
    names: Collection[str],
    file: Path | None,
    environment: Mapping[str, str] | None,
    flags: Mapping[str, object] | None,
) -> dict[str, OptionSection]:
    """Build the named sections. Raises ConfigRefusal with all faults."""
    faults: list[ConfigFault] = []
    settings: dict[str, _Setting] = {}
    for layer in (_from_file(file, faults), _from_environment(environment or {}, faults), _from_flags(flags or {})):
        settings.update(_resolved(layer, names, faults))
    sections = {name: _section(name, settings, faults) for name in names}
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
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        faults.append(ConfigFault(str(path), f"cannot be read: {reason}", "configuration file"))
        return
    except yaml.YAMLError as error:
        faults.append(ConfigFault(str(path), f"is not YAML: {_yaml_problem(error)}", "configuration file"))
        return
    for section, options in _mapping(str(path), tree, "configuration file", faults):
        if section not in SECTIONS:
            faults.append(ConfigFault(section, f"no such section; {_nearest(section, SECTIONS)}", origin))
            continue
        for option, value in _mapping(section, options, origin, faults):
            yield f"{section}.{option}", _Setting(value, origin)


def _mapping(key: str, value: object, origin: str, faults: list[ConfigFault]) -> list[tuple[str, object]]:
    """Give the items of what should be a mapping; an empty one may also be left out."""
    if isinstance(value, dict):
        return [(str(name), item) for name, item in value.items()]
    if value is not None:
        # Without the value: what stands there instead of a section may hold its passwords.
        faults.append(ConfigFault(key, "must be a mapping of names to values", origin))
    return []


def _yaml_problem(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{getattr(error, 'problem', None) or error}{where}"


def _from_environment(environment: Mapping[str, str], faults: list[ConfigFault]) -> Iterator[tuple[str, _Setting]]:
    names = {environment_variable(key): key for key in (*KEYS, *_FILE_KEYS)}
    for variable, value in sorted(environment.items()):
        if not variable.startswith(PREFIX) or variable in _OTHER_VARIABLES or _SERVICE_ADDRESS.match(value):
            continue
        if variable in names:
            yield names[variable], _Setting(_from_text(names[variable], value), f"variable {variable}")
        elif not _SERVICE_LINK.search(variable):
            faults.append(ConfigFault(variable, f"no such variable; {_nearest(variable, names)}", "environment"))


def environment_variable(key: str) -> str:
    """Give the environment variable of a key."""
    return PREFIX + key.replace(".", "_").upper()


def _from_flags(flags: Mapping[str, object]) -> Iterator[tuple[str, _Setting]]:
    for key, value in flags.items():
        yield key, _Setting(_from_text(key, value) if isinstance(value, str) else value, "command line")


def _from_text(key: str, value: str) -> object:
    """Read what a mapping needs from text, `a=1,b=2`; everything else the option's own type reads."""
    if key != "kafka.consumer_options":
        return value
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    return {name.strip(): text.strip() for name, _, text in pairs}


def _resolved(
    layer: Iterable[tuple[str, _Setting]], sections: Collection[str], faults: list[ConfigFault]
) -> dict[str, _Setting]:
    """Return the settings of the named sections with secrets read from their files; unknown keys are faults."""
    found: dict[str, _Setting] = {}
    for key, setting in layer:
        target = _FILE_KEYS.get(key, key)
        if target not in KEYS:
            faults.append(ConfigFault(key, f"no such option; {_nearest(key, KEYS)}", setting.origin))
        elif target.partition(".")[0] not in sections:
            continue
        elif target in found:
            faults.append(ConfigFault(target, f"is given twice: as itself and as {target}_file", setting.origin))
        elif target is key:
            found[key] = setting
        elif (content := _secret(key, setting, faults)) is not None:
            found[target] = content
    return found


def _secret(key: str, setting: _Setting, faults: list[ConfigFault]) -> _Setting | None:
    try:
        text = Path(str(setting.value)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or 'not text'}"
        faults.append(ConfigFault(key, problem, setting.origin, setting.value))
        return None
    # An editor ends a file with a line break; a password does not.
    return _Setting(text.removesuffix("\n").removesuffix("\r"), f"file {setting.value}")


def _section(name: str, settings: Mapping[str, _Setting], faults: list[ConfigFault]) -> OptionSection | None:
    """Build one section; note its faults."""
    own = {key.partition(".")[2]: setting for key, setting in settings.items() if key.startswith(f"{name}.")}
    try:
        section = SECTIONS[name].model_validate({option: setting.value for option, setting in own.items()})
    except ValidationError as error:
        faults.extend(_fault(name, dict(problem), own) for problem in error.errors(include_url=False))
        return None
    for option, problem in section.contradictions():
        faults.append(_named_fault(name, option, problem, own))
    return section


def _fault(section: str, problem: Mapping[str, Any], own: Mapping[str, _Setting]) -> ConfigFault:
    option = str(problem["loc"][0])
    if problem["type"] == "missing":
        problem_text = f"is required: set it in the file, or {environment_variable(f'{section}.{option}')}, or by --set"
        return ConfigFault(f"{section}.{option}", problem_text, "not set")
    text = problem["msg"].removeprefix("Value error, ")
    return _named_fault(section, option, re.sub(r"^(Input|String|Path|Value) should ", "must ", text), own)


def _named_fault(section: str, option: str, problem: str, own: Mapping[str, _Setting]) -> ConfigFault:
    key = f"{section}.{option}"
    setting = own.get(option)
    if setting is None:
        return ConfigFault(key, problem, "default or not set")
    return ConfigFault(key, problem, setting.origin, None if key in _NOT_SHOWN else setting.value)


def _nearest(word: str, choices: Iterable[str]) -> str:
    """Say which valid name is meant, or where to find them all."""
    near = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else "see docs/config.md for all"
