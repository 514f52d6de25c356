"""One row of the alerts' tables, a story of some series and the alerts that fire at a moment, and its run in promtool.

Series have promtool's form with one sample every 30 seconds: `1x10` is the value 1 eleven times, `_` is a missing
sample, and `stale` is the marker of a series that has ended.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.chart.values_schema import CHART

RULES: Final = CHART / "rules"
FILES: Final = sorted(RULES.glob("*.yaml"))
MONITOR: Final = {"job": "lagwarden", "instance": "watch-0:10848"}
"""The labels that a scrape gives to all series of one monitor."""
OTHER: Final = {"job": "lagwarden", "instance": "other-0:10848"}
"""The labels of a second monitor in the same Prometheus."""


CLUSTER: Final = {"job": "lagwarden", "cluster_id": "north"}
"""The labels of an alert about a cluster: those of its instances without the ones by which they differ."""


def instances(*labels: Mapping[str, str], of_cluster: str = "north") -> dict[str, str]:
    """Return the series that identify the instances of a cluster."""
    return {of("lagwarden_cluster_info", each, cluster_id=of_cluster): "1x200" for each in labels}


class Kind(enum.Enum):
    """The kind of a story; each alert needs one of each."""

    BEFORE = "just before"
    AFTER = "just after"
    ODD = "healthy but odd"
    VANISHED = "its series vanish"
    DEAD = "the monitor dies"


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """The text of an alert."""

    summary: str
    description: str


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A story: series, the evaluation time of Prometheus, and the labels of each alert that fires then.

    If `text` is set, the texts of firing alerts are compared word by word; $GROUP is the group of each.
    """

    alert: str
    kind: Kind
    story: str
    series: Mapping[str, str]
    at: str
    fires: Sequence[Mapping[str, str]] = ()
    text: Text | None = None

    @property
    def name(self) -> str:
        return f"{self.alert}: {self.kind.value}: {self.story}"


@dataclasses.dataclass(frozen=True, slots=True)
class Story:
    """One or more cases of an alert, which do not have its name yet."""

    cases: tuple[Case, ...]

    def __add__(self, other: Story) -> Story:
        return Story(self.cases + other.cases)

    def says(self, summary: str, description: str) -> Story:
        """Return the story with the text of the first case that fires."""
        first = next(number for number, case in enumerate(self.cases) if case.fires)
        with_text = dataclasses.replace(self.cases[first], text=Text(summary, description))
        return Story((*self.cases[:first], with_text, *self.cases[first + 1 :]))


def _story(kind: Kind, at: str, series: Mapping[str, str], fires: Sequence[Mapping[str, str]] = ()) -> Story:
    return Story((Case("", kind, "", series, at, fires),))


before: Final = functools.partial(_story, Kind.BEFORE)
after: Final = functools.partial(_story, Kind.AFTER)
odd: Final = functools.partial(_story, Kind.ODD)
vanished: Final = functools.partial(_story, Kind.VANISHED)
dead: Final = functools.partial(_story, Kind.DEAD)


def edge(quiet_at: str, at: str, series: Mapping[str, str], fires: Sequence[Mapping[str, str]]) -> Story:
    """Return a story whose alert does not fire at the first time, and fires at the second."""
    return before(quiet_at, series) + after(at, series, fires)


def stories(table: Mapping[str, Mapping[str, Story]]) -> list[Case]:
    """Return the cases of a table: alert -> sentence -> story."""
    return [
        dataclasses.replace(case, alert=alert, story=f"{sentence} ({case.at})")
        for alert, rows in table.items()
        for sentence, story in rows.items()
        for case in story.cases
    ]


def alerts() -> dict[str, dict[str, Any]]:
    """Return the alerts of the chart by name, as in the rule files."""
    rules = [rule for file in FILES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
    return {rule["alert"]: rule for rule in rules if "alert" in rule}


def rules_of(alert: str) -> dict[str, Any]:
    """Return a rule file with an alert and the recording rules that it needs, in their groups and order."""
    groups = [group for file in FILES for group in yaml.safe_load(file.read_text())["groups"]]
    recorded = {rule["record"]: rule["expr"] for group in groups for rule in group["rules"] if "record" in rule}
    needed: set[str] = set()
    expressions = [alerts()[alert]["expr"]]
    while expressions:
        found = {name for name in recorded if re.search(rf"(?<![\w:]){name}(?![\w:])", expressions[0])} - needed
        expressions = [*expressions[1:], *(recorded[name] for name in found)]
        needed |= found
    kept = [
        {
            **group,
            "rules": [rule for rule in group["rules"] if rule.get("alert") == alert or rule.get("record") in needed],
        }
        for group in groups
    ]
    return {"groups": [group for group in kept if group["rules"]]}


def of(metric: str, labels: Mapping[str, str] = MONITOR, /, **more: str) -> str:
    """Return a series in the form of PromQL."""
    quoted = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in {**labels, **more}.items()}
    return metric + "{" + ",".join(f'{name}="{value}"' for name, value in quoted.items()) + "}"


def of_cluster(name: str, series: Mapping[str, str]) -> dict[str, str]:
    """Return the series of a cluster with this name (`metrics.cluster_name`). Series of the scrape have no name."""
    return {
        written if written.startswith("up{") else written.replace("{", f'{{cluster="{name}",', 1): values
        for written, values in series.items()
    }


def in_clusters(case: Case, *names: str) -> Case:
    """Return a story that happens in each of these clusters, with the same job and instance, without texts."""
    series = {written: values for name in names for written, values in of_cluster(name, case.series).items()}
    fires = [{**labels, "cluster": name} for name in names for labels in case.fires]
    return dataclasses.replace(case, series=series, fires=fires, text=None)


def group_test(case: Case) -> dict[str, Any]:
    """Return a story as one test of a promtool file."""
    test: dict[str, Any] = {
        "name": case.name,
        "interval": "30s",
        "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
    }
    rule = alerts()[case.alert]
    expected = [{**rule["labels"], **labels} for labels in case.fires]
    if case.text is None:
        samples = [
            {"labels": of("ALERTS", labels, alertname=case.alert, alertstate="firing"), "value": 1}
            for labels in expected
        ]
        asked = {"expr": f'ALERTS{{alertname="{case.alert}", alertstate="firing"}}', "eval_time": case.at}
        return {**test, "promql_expr_test": [{**asked, "exp_samples": samples}]}
    words = dataclasses.asdict(case.text)
    alerts_expected = [{"exp_labels": labels, "exp_annotations": _filled_words(words, labels)} for labels in expected]
    return {**test, "alert_rule_test": [{"eval_time": case.at, "alertname": case.alert, "exp_alerts": alerts_expected}]}


def _filled_words(words: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of an alert, with its group in place of $GROUP."""
    return {name: text.replace("$GROUP", labels.get("group", "")) for name, text in words.items()}


def run_promtool(
    promtool: str, tests: Sequence[Mapping[str, Any]], folder: Path, rules: Sequence[Path] = FILES
) -> str | None:
    """Run tests of promtool, by default with the rules of the chart; return its complaints, or None."""
    file = folder / "tests.yaml"
    # Without it, promtool evaluates groups in any order.
    order = [group["name"] for each in rules for group in yaml.safe_load(each.read_text())["groups"]]
    given = {"rule_files": list(map(str, rules)), "group_eval_order": order, "evaluation_interval": "30s"}
    given |= {"tests": list(tests)}
    file.write_text(yaml.safe_dump(given, allow_unicode=True))
    done = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stdout + done.stderr


def promtool_complaints(
    promtool: str, cases: Sequence[Case], folder: Path, rules: Mapping[str, Any] | None = None
) -> str | None:
    """Run rows through promtool with these rules, or those of the chart; return its complaints, or None."""
    own = folder / "rules.yaml"
    if rules is not None:
        own.write_text(yaml.safe_dump(rules, allow_unicode=True))
    return run_promtool(promtool, [group_test(case) for case in cases], folder, FILES if rules is None else [own])
