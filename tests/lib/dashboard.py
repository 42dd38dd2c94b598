# SPDX-License-Identifier: GPL-2.0
"""Checks a dashboard of Grafana against what `tally export` writes.

    dashboard.py DASHBOARD METRICS    METRICS is a file that `tally export` has written

Prints each fault, and exits with status 1 if there is one.
"""
from __future__ import annotations

import json
import re
import sys
from typing import Any, Dict, Iterator, List, Set, Tuple

AGGREGATES = {'sum', 'count', 'min', 'max', 'avg'}
FUNCTIONS = AGGREGATES | {'rate', 'increase', 'vector'}
OPERATORS = {'and', 'or', 'unless', 'bool'}
OF_LABELS = {'by', 'without', 'on', 'ignoring'}

TOKEN = re.compile(r'"[^"]*"|\[[^]]*\]|[A-Za-z_:][\w:]*|\d[\w.]*|[=!]~|[=!<>]=|[-+*/%^(){},<>=]')

# Each metric's labels, and each label's values.
Metrics = Dict[str, Dict[str, Set[str]]]


def metrics_of(text: str) -> Metrics:
    """Parses what `tally export` has written."""
    metrics: Metrics = {}
    for line in text.splitlines():
        match = re.fullmatch(r'(\w+)(?:\{(.*)\})? -?[\d.]+', line)
        if not match:
            assert line.startswith('#'), line
            continue
        labels = metrics.setdefault(match[1], {})
        for name, value in re.findall(r'(\w+)="([^"]*)"', match[2] or ''):
            labels.setdefault(name, set()).add(value)
    return metrics


def states_of(text: str) -> Dict[str, str]:
    """Returns the numbers and names of states, which stand in the help of tally_event_state."""
    match = re.search(r'^# HELP tally_event_state .*: (.*)\.$', text, re.MULTILINE)
    assert match, text
    return dict(one.split(' ') for one in match[1].split(', '))


class Expression:
    """What an expression names: metrics, and the labels that it compares, keeps or drops.

    Only labels behind "by" are left by an aggregate, such as sum().
    """

    def __init__(self, text: str) -> None:
        self.metrics: List[str] = []
        self.labels: List[str] = []
        self.values: List[Tuple[str, str]] = []     # a label, and a value that it is compared with
        self.unknown: List[str] = []
        self.aggregates = False
        self.by: List[str] = []
        self._tokens = TOKEN.findall(text)
        rest = TOKEN.sub('', text).strip()
        if rest:
            self.unknown.append(rest)
        while self._tokens:
            self._take()

    def _take(self) -> None:
        token = self._tokens.pop(0)
        if token == '{':
            self._take_matchers()
        elif token in OF_LABELS:
            self._take_labels(token)
        elif token in OPERATORS or not re.match(r'[A-Za-z_:]', token):
            return
        elif self._tokens[:1] == ['('] or self._tokens[:1] == ['by']:
            self.unknown += [] if token in FUNCTIONS else [token]
            self.aggregates |= token in AGGREGATES
        else:
            self.metrics.append(token)

    def _take_until(self, end: str) -> List[str]:
        at = self._tokens.index(end)
        taken, self._tokens = self._tokens[:at], self._tokens[at + 1:]
        return taken

    def _take_labels(self, word: str) -> None:
        labels = [token for token in self._take_until(')') if token not in '(,']
        self.labels += labels
        self.by += labels if word == 'by' else []

    def _take_matchers(self) -> None:
        tokens = [token for token in self._take_until('}') if token != ',']
        for label, operator, value in zip(tokens[::3], tokens[1::3], tokens[2::3]):
            self.labels.append(label)
            values = value.strip('"')
            self.values += [(label, one) for one in
                            (values.split('|') if '~' in operator else [values])]


class Checker:
    """Collects the faults of a dashboard."""

    def __init__(self, dashboard: Any, metrics: Metrics, states: Dict[str, str]) -> None:
        self.dashboard = dashboard
        self.metrics = metrics
        self.states = states
        self.faults: List[str] = []
        self.used: Set[str] = set()
        self.variables = {variable['name'] for variable in dashboard['templating']['list']}

    def targets(self) -> Iterator[Tuple[str, Any]]:
        for panel in self.dashboard['panels']:
            for target in panel['targets']:
                yield panel['title'], target

    def fault(self, place: str, text: str) -> None:
        self.faults.append(f'{place}: {text}')

    def labels_of(self, metrics: List[str]) -> Dict[str, Set[str]]:
        """Returns the labels that all of these metrics have."""
        tables = [self.metrics.get(metric, {}) for metric in metrics]
        return {label: values for label, values in (tables or [{}])[0].items()
                if all(label in table for table in tables)}

    def expression(self, place: str, text: str) -> Expression:
        expression = Expression(text)
        for word in expression.unknown:
            self.fault(place, f'{word} is no function or operator')
        if not expression.metrics:
            self.fault(place, 'no metric is named')
        for metric in expression.metrics:
            if metric not in self.metrics:
                self.fault(place, f'there is no metric {metric}')
        self.used.update(expression.metrics)
        self.labels(place, expression)
        return expression

    def labels(self, place: str, expression: Expression) -> None:
        labels = self.labels_of(expression.metrics)
        for label in expression.labels:
            if label not in labels:
                self.fault(place, f'there is no label {label}')
        for label, value in expression.values:
            if not value.startswith('$') and value not in labels.get(label, ()):
                self.fault(place, f'the label {label} has no value {value}')

    def target(self, place: str, target: Any) -> None:
        expression = self.expression(place, target['expr'])
        labels = set(expression.by if expression.aggregates else
                     self.labels_of(expression.metrics))
        for label in re.findall(r'\{\{\s*(.*?)\s*\}\}', target['legendFormat']):
            if label not in labels:
                self.fault(place, f'the legend has no label {label}')

    def variable(self, variable: Any) -> None:
        place = f'variable {variable["name"]}'
        if variable['type'] != 'query':
            return
        for query in (variable['definition'], variable['query']['query']):
            match = re.fullmatch(r'label_values\((\w+), (\w+)\)', query)
            if not match:
                self.fault(place, f'{query} is no query of label values')
            elif match[2] not in self.metrics.get(match[1], {}):
                self.fault(place, f'there is no metric {match[1]} with the label {match[2]}')

    def defined(self) -> None:
        """Checks that each variable in the text is defined, or one of Grafana's own."""
        for name in re.findall(r'\$\{?(\w+)', json.dumps(self.dashboard)):
            if name not in self.variables and name not in ('__all', '__rate_interval'):
                self.fault('dashboard', f'there is no variable {name}')
        if 'event' not in self.variables:
            self.fault('dashboard', 'there is no variable event')

    def places(self) -> None:
        """Checks that no two panels have the same place or id."""
        taken: Dict[Tuple[int, int], str] = {}
        ids = [panel['id'] for panel in self.dashboard['panels']]
        if len(set(ids)) != len(ids):
            self.fault('dashboard', 'two panels have the same id')
        for panel in self.dashboard['panels']:
            grid = panel['gridPos']
            for x in range(grid['x'], grid['x'] + grid['w']):
                for y in range(grid['y'], grid['y'] + grid['h']):
                    other = taken.setdefault((x, y), panel['title'])
                    if other != panel['title'] or x >= 24:
                        self.fault(panel['title'], f'lies over {other}, or outside')
                        return

    def shown_states(self) -> None:
        """Checks that a bar of states has the name of each state."""
        for panel in self.dashboard['panels']:
            if panel['type'] != 'state-timeline':
                continue
            shown = {number: option['text']
                     for mapping in panel['fieldConfig']['defaults']['mappings']
                     for number, option in mapping['options'].items()}
            for number, name in self.states.items():
                if shown.get(number) != name:
                    self.fault(panel['title'], f'{name} is shown as {shown.get(number)}')

    def check(self) -> List[str]:
        for place, target in self.targets():
            self.target(place, target)
        for variable in self.dashboard['templating']['list']:
            self.variable(variable)
        self.defined()
        self.places()
        self.shown_states()
        for metric in sorted(self.metrics.keys() - self.used):
            self.fault('dashboard', f'{metric} is not shown')
        return self.faults


def main() -> int:
    with open(sys.argv[1], encoding='ascii') as file:
        dashboard = json.load(file)
    with open(sys.argv[2], encoding='utf-8') as file:
        text = file.read()
    metrics = metrics_of(text)
    checker = Checker(dashboard, metrics, states_of(text))
    faults = checker.check()
    print(f'# {len(list(checker.targets()))} expressions, {len(metrics)} metrics')
    for fault in faults:
        print(fault)
    return 1 if faults or not checker.used else 0


sys.exit(main())
