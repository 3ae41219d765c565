"""A strict reader of Paraver's .prv, .pcf and .row, written from the description of the format."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

HEADER = re.compile(
    r"#Paraver \(\d\d/\d\d/\d\d at \d\d:\d\d\):(\d+)_ns:(\d+)\(([\d,]+)\):1:(\d+)\(((?:\d+:\d+,?)+)\),(\d+)"
)
CALLS = range(50000001, 50000006)
RUNNING = 1


@dataclass
class Prv:
    """Records of a trace, by task from 0."""

    end_ns: int
    node_of_task: list[int]
    comms: dict[int, list[int]]
    states: dict[int, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    events: dict[int, list[tuple[int, dict[int, int]]]] = field(default_factory=lambda: defaultdict(list))
    messages: list[tuple[int, ...]] = field(default_factory=list)

    def calls(self, task: int) -> list[tuple[int, int, int, int, dict[int, int]]]:
        """Type, value, begin, end, and the pairs at the begin of each call."""
        found, inside = [], None
        for date_ns, pairs in self.events[task]:
            for kind in set(pairs) & set(CALLS):
                if pairs[kind]:
                    assert inside is None, "calls do not nest"
                    inside = (kind, pairs[kind], date_ns, dict(pairs))
                else:
                    assert inside is not None, "a call ends that has not begun"
                    assert inside[0] == kind, "another call ends"
                    found.append((*inside[:3], date_ns, inside[3]))
                    inside = None
            if inside is not None and inside[2] == date_ns:
                inside[3].update(pairs)
        assert inside is None, "a call does not end"
        return found


def read(path: Path) -> Prv:
    """Read a trace; an assertion fails where it is not as the format has it."""
    lines = path.read_text().splitlines()
    match = HEADER.fullmatch(lines[0])
    assert match, lines[0]
    end_ns, n_nodes, cpus, n_tasks, tasks, n_comms = match.groups()
    n_cpus = list(map(int, cpus.split(",")))
    assert len(n_cpus) == int(n_nodes)
    placed = [tuple(map(int, task.split(":"))) for task in tasks.split(",")]
    assert len(placed) == int(n_tasks)
    assert all(n_threads == 1 and 1 <= node <= len(n_cpus) for n_threads, node in placed)
    assert [sum(node == number for _, node in placed) for number in range(1, len(n_cpus) + 1)] == n_cpus
    trace = Prv(int(end_ns), [node - 1 for _, node in placed], {})
    for line in lines[1 : 1 + int(n_comms)]:
        letter, appl, number, n, *members = line.split(":")
        assert (letter, appl, int(n)) == ("c", "1", len(members))
        trace.comms[int(number)] = [int(member) - 1 for member in members]
    cpu_of_task: dict[int, int] = {}
    last_ns = 0
    for line in lines[1 + int(n_comms) :]:
        kind, *fields = map(int, line.split(":"))
        cpu, appl, task, thread, date_ns = fields[:5]
        assert (appl, thread, 0 <= task - 1 < int(n_tasks)) == (1, 1, True)
        assert cpu_of_task.setdefault(task, cpu) == cpu
        assert last_ns <= date_ns <= trace.end_ns, "records are sorted"
        last_ns = date_ns
        if kind == 1:
            assert date_ns < fields[5]
            trace.states[task - 1].append((date_ns, fields[5], fields[6]))
            assert len(fields) == 7
        elif kind == 2:
            pairs = fields[5:]
            assert pairs
            assert len(pairs) % 2 == 0
            trace.events[task - 1].append((date_ns, dict(zip(pairs[::2], pairs[1::2], strict=True))))
        else:
            assert (kind, len(fields)) == (3, 14)
            physical_ns, other, received_ns, there_ns = fields[5], fields[8] - 1, fields[10], fields[11]
            assert cpu_of_task.setdefault(fields[8], fields[6]) == fields[6]
            assert date_ns <= physical_ns <= there_ns <= trace.end_ns
            assert received_ns <= there_ns
            trace.messages.append((task - 1, other, fields[12], fields[13], date_ns, received_ns, there_ns))
    assert sorted(cpu_of_task.values()) == list(range(1, int(n_tasks) + 1))
    for states in trace.states.values():
        assert states[0][0] == 0
        assert [end for _, end, _ in states] == [*(begin for begin, _, _ in states[1:]), trace.end_ns]
    return trace


def values_of(path: Path) -> dict[int, dict[int, str]]:
    """Names of the values of each type of events in a .pcf, and of states as type 0."""
    values: dict[int, dict[int, str]] = {}
    for block in path.read_text().split("\n\n\n"):
        lines = block.splitlines()
        if lines[0] == "STATES":
            values[0] = {int(number): name for number, name in (line.split("\t") for line in lines[1:])}
        elif lines[0] == "EVENT_TYPE":
            end = lines.index("VALUES") if "VALUES" in lines else len(lines)
            kinds = [int(line.split("\t")[1]) for line in lines[1:end]]
            named = {int(number): name for number, name in (line.split("\t") for line in lines[end + 1 :])}
            values.update(dict.fromkeys(kinds, named))
    return values
