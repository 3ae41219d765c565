"""Run one module of mpi4py's test-suite on every rank by the suite's own `main.py`, noting how each test ended.

    smpy run -np N --compute none --private unittest tests/suite/program.py SUITE MODULE NOTES [EXCLUDED ...]

Each rank appends a line of JSON to `NOTES/rank-R.jsonl` when a test starts and one when it has ended, so that whatever
stops the run, it is known where.
"""

import contextlib
import json
import os
import sys
import unittest
from pathlib import Path

from mpi4py import MPI

RANK = MPI.COMM_WORLD.Get_rank()


class NotingResult(unittest.TextTestResult):
    """Notes each test's start and outcome, besides what unittest does."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._notes = Path(sys.argv[3], f"rank-{RANK}.jsonl")

    def _note(self, test, outcome, detail=""):
        with self._notes.open("a", encoding="utf-8") as notes:
            print(json.dumps([test.id(), outcome, detail]), file=notes)

    def startTest(self, test):
        super().startTest(test)
        self._note(test, "started")

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "failed", self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed", self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed", f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._note(test, "skipped", "expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note(test, "failed", "unexpected success")


class NotingRunner(unittest.TextTestRunner):
    """unittest's runner, with our result."""

    resultclass = NotingResult


if __name__ == "__main__":  # workers of pools import this file, without arguments
    suite, module, _, *names = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(suite, "test"))
    from main import main

    excluded = [option for name in names for option in ("-x", f"*{name}")]
    with contextlib.suppress(SystemExit):  # failures are noted
        main(module=None, testRunner=NotingRunner, argv=["main.py", "-q", "-i", rf"^{module}\.py$", *excluded])
