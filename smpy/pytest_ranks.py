"""pytest on N ranks with one report: `smpy run -np 4 -m pytest -p smpy.pytest_ranks tests`.

Every rank runs every test, and after each test the ranks exchange its outcome, on a communicator of the plugin's own.
Rank 0 reports it: a test fails if it fails on any rank, and ranks are named where their outcomes differ. All ranks
follow the common outcome, so that `-x` stops all of them. Ranks that collect different tests do not begin. It works
under a real mpiexec, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import pytest

_WORST_FIRST: Final = ("failed", "passed", "skipped")
_SHOWN_MAX: Final = 5  # differences


@pytest.hookimpl(trylast=True)  # the terminal's reporter is there
def pytest_configure(config: pytest.Config) -> None:
    """Report tests of all ranks once."""
    from mpi4py import MPI  # the rank's own; a process that only looks at this module has none

    config.pluginmanager.register(_RankReports(config, MPI.COMM_WORLD.Dup()))


class _RankReports:
    """Plugin of one rank.

    Parameters
    ----------
    config : pytest.Config
        The rank's.
    comm : Comm
        Communicator of the plugin's own.
    """

    def __init__(self, config: pytest.Config, comm: Any) -> None:
        self._config = config
        self._comm = comm
        self._differing: list[str] = []
        self._failed_to_collect: list[str] = []
        if comm.rank:
            config.pluginmanager.unregister(name="terminalreporter")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note files and classes that cannot be collected."""
        if report.failed:
            lines = [line[1:].strip() for line in str(report.longrepr).splitlines() if line.startswith("E ")]
            trouble = _without_addresses(lines[0]) if lines else "for an unknown reason"
            self._failed_to_collect.append(f"{report.nodeid} fails ({trouble})")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """End the session if ranks would run different tests: their outcomes could not be compared."""
        of_ranks = self._comm.allgather([*self._failed_to_collect, *(item.nodeid for item in session.items)])
        everywhere = set(of_ranks[0]).intersection(*of_ranks)
        ranks_of: dict[str, list[int]] = {}
        for rank, collected in enumerate(of_ranks):
            for name in collected:
                if name not in everywhere:
                    ranks_of.setdefault(name, []).append(rank)
        differences = [f"{name} on {_ranks(ranks)} alone" for name, ranks in ranks_of.items()]
        if differences or any(collected != of_ranks[0] for collected in of_ranks):
            more = [f"and {len(differences) - _SHOWN_MAX} more"] if len(differences) > _SHOWN_MAX else []
            what = "; ".join([*differences[:_SHOWN_MAX], *more]) or "their order differs"
            pytest.exit(f"ranks collect different tests: {what}", pytest.ExitCode.INTERRUPTED)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test on all ranks, and report its common outcome."""
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        runner: Any = self._config.pluginmanager.getplugin("runner")  # the rank's own; this module is all ranks'
        own = [self._to_text(report) for report in runner.runtestprotocol(item, log=False, nextitem=nextitem)]
        of_ranks = self._comm.allgather(own)
        for phase in sorted({report["when"] for reports in map(_loaded, of_ranks) for report in reports}, key=_order):
            hook.pytest_runtest_logreport(report=self._common(item.nodeid, phase, of_ranks))
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the tests whose outcome is not the same on all ranks."""
        if self._differing:
            terminalreporter.section("ranks that differ")
            for line in self._differing:
                terminalreporter.write_line(line)

    def _to_text(self, report: pytest.TestReport) -> str:
        content = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        return json.dumps(content, default=str)

    def _common(self, name: str, phase: str, of_ranks: Sequence[Sequence[str]]) -> pytest.TestReport:
        """Report of a phase of a test: that of the first rank with the worst outcome."""
        ranks_of: dict[str, list[int]] = {}
        ranks_with: dict[str, list[int]] = {}  # by message of the failure
        content: dict[str, Any] = {}
        for rank, reports in enumerate(map(_loaded, of_ranks)):
            for report in reports:
                if report["when"] == phase:
                    ranks_of.setdefault(report["outcome"], []).append(rank)
                    if report["outcome"] == "failed":
                        ranks_with.setdefault(_message(report), []).append(rank)
                    if not content or _badness(report) < _badness(content):
                        content = report
        common: pytest.TestReport = self._config.hook.pytest_report_from_serializable(config=self._config, data=content)
        if len(ranks_of) > 1:
            parts = [f"{outcome} on {_ranks(ranks_of[outcome])}" for outcome in _WORST_FIRST if outcome in ranks_of]
            self._differing.append(f"{name}: {', '.join(parts)}")
            if common.failed:
                common.sections.append(("ranks", ", ".join(parts)))
        if len(ranks_with) > 1:
            lines = [f"{_ranks(ranks)}: {message}" for message, ranks in ranks_with.items()]
            common.sections.append(("failures by rank", "\n".join(lines)))
        return common


def _loaded(reports: Sequence[str]) -> list[dict[str, Any]]:
    return [json.loads(report) for report in reports]


def _order(phase: str) -> int:
    return ("setup", "call", "teardown").index(phase)


def _badness(report: dict[str, Any]) -> int:
    return _WORST_FIRST.index(report["outcome"])


def _message(report: dict[str, Any]) -> str:
    """First line of a failure's message."""
    trouble = report["longrepr"]
    crash = trouble.get("reprcrash") if isinstance(trouble, dict) else None
    text = str(crash["message"] if crash else trouble)
    return _without_addresses(text.partition("\n")[0])


def _without_addresses(text: str) -> str:
    """Text without addresses, which differ between ranks."""
    return re.sub(r"0x[0-9a-f]+", "0x...", text)


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
