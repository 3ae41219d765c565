"""One clock for all: whatever tells a date or waits for one knows simulated time, and no look lets another rank in."""

import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

RANK = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank = comm.Get_rank()\n"


def lines(ran: Any) -> list[str]:
    assert ran.code == 0, ran.error
    return ran.out.splitlines()


# A library that all ranks share; it holds a lock while it looks at the clock, as compilers and caches do.
LIBRARY = """
    import threading, time
    from datetime import datetime
    __smpy_shared__ = True
    lock = threading.RLock()
    n_inside = 0

    def locked(look, n=1000):
        global n_inside
        with lock:
            n_inside += 1
            assert n_inside == 1, "another rank is inside"
            dates = [look() for _ in range(n)]
            n_inside -= 1
        assert all(a < b for a, b in zip(dates, dates[1:])), "the clock stood still"
        return dates

    def wait_until(date):
        n = 0
        while time.monotonic() < date:
            n += 1
        return n
"""

LOOKS = {
    "perf_counter": "time.perf_counter",
    "time_ns": "time.time_ns",
    "monotonic_ns": "time.monotonic_ns",
    "process_time": "time.process_time",
    "clock_gettime": "lambda: time.clock_gettime(time.CLOCK_MONOTONIC)",
    "times": "lambda: os.times().elapsed",
}
# The ranks compute at one time on one core: how long that takes is not known before it is over.
COMPUTE = "import smpy\nsmpy.execute(1e6 * (1 + rank))\n"
ONE_CORE = """<?xml version='1.0'?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">
    <zone id="z" routing="Full"><host id="h" speed="1Gf"/></zone></platform>"""


@pytest.fixture
def on_one_core(tmp_path: Path, emulated: Callable) -> Callable:
    """Runs a program, all ranks of which share a core."""
    (tmp_path / "one.xml").write_text(ONE_CORE)
    (tmp_path / "hosts").write_text("h\n")

    def run(source: str, n_ranks: int, library: str = "", **config: Any) -> Any:
        files = {"library.py": dedent(LIBRARY) + library}
        return emulated(source, n_ranks, files, platform=tmp_path / "one.xml", hostfile=tmp_path / "hosts", **config)

    return run


@pytest.mark.parametrize("compute", ["none", "measured"])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_a_look_from_a_shared_library_lets_no_other_rank_in(on_one_core: Callable, look: str, compute: str):
    ran = on_one_core(
        RANK + COMPUTE + "import library\nlibrary.locked(library.look)\nprint('ok')\n",
        3,
        f"import os\nlook = {look}\n",
        compute=compute,
    )
    assert ran.out.split() == ["ok"] * 3, ran.error


def test_a_look_from_the_programs_own_code_tells_the_exact_date(on_one_core: Callable):
    ran = on_one_core(RANK + COMPUTE + "import time\nprint(rank, round(time.perf_counter(), 6))\n", 2)
    assert sorted(ran.out.splitlines()) == ["0 0.002", "1 0.003"]


def test_a_library_is_told_the_earliest_date_its_rank_can_have(on_one_core: Callable):
    ran = on_one_core(
        RANK + COMPUTE + "import library, time\n"
        "told = library.locked(time.perf_counter, 1)[0]\n"
        "print(rank, round(told, 6), told < time.perf_counter())\n",
        2,
    )
    assert sorted(ran.out.splitlines()) == ["0 0.001 True", "1 0.002 True"]


@pytest.mark.parametrize("compute", ["none", "measured"])
def test_a_librarys_loop_with_a_time_out_ends(on_one_core: Callable, compute: str):
    ran = on_one_core(
        RANK + COMPUTE + "import library, time\nlibrary.wait_until(time.monotonic() + 1e-3)\nprint('through')\n",
        2,
        compute=compute,
    )
    assert ran.out.split() == ["through"] * 2


def test_looks_of_a_library_take_their_time(emulated: Callable):
    ran = emulated(
        RANK + "import library\nlibrary.locked(library.time.perf_counter, 10**5)\n", 1, {"library.py": LIBRARY}
    )
    assert ran.outcome.summary.makespan_s == pytest.approx(1e-3)


def test_a_library_sees_what_its_rank_has_computed_so_far(emulated: Callable):
    ran = emulated(
        """
        import library, time
        before = library.locked(time.perf_counter, 1)[0]
        x = sum(range(10**6))
        after = library.locked(time.perf_counter, 1)[0]
        assert 1e-3 < after - before <= time.perf_counter() - before
        """,
        1,
        {"library.py": LIBRARY},
        compute="measured",
    )
    assert ran.code == 0, ran.error


# ---- one clock for all ----

PRESENT = {
    "datetime.now": "datetime.datetime.now().timestamp()",
    "datetime.now(tz)": "datetime.datetime.now(datetime.UTC).timestamp()",
    "datetime.utcnow": "datetime.datetime.utcnow().replace(tzinfo=datetime.UTC).timestamp()",
    "datetime.today": "datetime.datetime.today().timestamp()",
    "a subclass": "Own.now().timestamp()",
    "date.today": "time.mktime(datetime.date.today().timetuple())",
    "strftime": "time.mktime(time.strptime(time.strftime('%c')))",
    "ctime": "time.mktime(time.strptime(time.ctime()))",
    "asctime": "time.mktime(time.strptime(time.asctime()))",
    "localtime": "time.mktime(time.localtime())",
    "gmtime": "calendar.timegm(time.gmtime())",
    "clock_gettime": "time.clock_gettime(time.CLOCK_REALTIME)",
    "clock_gettime_ns": "time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9",
    "logging": "logging.makeLogRecord({}).created",
    "logging's start": "1.6e9 + logging.makeLogRecord({}).relativeCreated / 1e3",
    "email": "email.utils.mktime_tz(email.utils.parsedate_tz(email.utils.formatdate()))",
    "uuid1": "(uuid.uuid1().time - 0x01B21DD213814000) / 1e7",
}


@pytest.mark.parametrize("present", PRESENT.values(), ids=PRESENT.keys())
def test_the_present_is_what_time_tells(emulated: Callable, present: str):
    ran = emulated(
        f"""
        import calendar, datetime, email.utils, logging, time, uuid, warnings
        from mpi4py import MPI
        warnings.simplefilter("ignore")
        class Own(datetime.datetime):
            pass
        midnight = time.mktime((2021, 1, 1 + MPI.COMM_WORLD.Get_rank(), 0, 0, 0, 0, 0, -1))
        time.sleep(midnight - time.time())
        present = {present}
        assert -1e-3 < time.time() - present < 1 and time.time() - midnight < 1e-3, present - midnight
        """
    )
    assert ran.code == 0, ran.error


def test_a_number_made_of_the_time_is_of_the_date_of_its_rank(emulated: Callable):
    ran = emulated(
        """
        import time, uuid
        from mpi4py import MPI
        rank, begin_s = MPI.COMM_WORLD.Get_rank(), time.time()
        time.sleep((1000, 1, 100)[rank])
        numbers = [uuid.uuid1() for _ in range(3)]
        times = [number.time for number in numbers]
        date_s = (times[0] - 0x01B21DD213814000) / 1e7 - begin_s
        assert times == sorted(set(times)) and abs(date_s - (time.time() - begin_s)) < 1, date_s
        """,
        3,
    )
    assert ran.code == 0, ran.error


def test_dates_are_of_the_types_they_always_were(emulated: Callable):
    ran = emulated(
        """
        import copy, datetime, pickle
        import numpy as np
        from datetime import datetime as Date
        now = Date.now()
        assert type(now) is Date and repr(Date) == "<class 'datetime.datetime'>"
        assert isinstance(np.datetime64("2020-01-01T00:00:00").astype(object), Date)
        assert isinstance(Date.strptime("2020", "%Y"), Date)
        assert pickle.loads(pickle.dumps(now)) == now == copy.deepcopy(now)
        assert pickle.loads(pickle.dumps(Date.now))().year == 2020
        assert pickle.loads(pickle.dumps(Date)) is Date is datetime.datetime
        """
    )
    assert ran.code == 0, ran.error


def test_dates_imported_before_the_run_know_it_and_are_real_again_after_it(emulated: Callable):
    before = datetime.now(UTC)
    assert lines(emulated("import datetime\nprint(datetime.date.today().year)\n", 1)) == ["2020"]
    assert datetime.now(UTC) >= before
    assert date.today() >= before.date() - timedelta(days=1)  # noqa: DTZ011  # the function itself, and its time zone
    assert uuid.uuid1().time > 0x01B21DD213814000 + before.timestamp() * 1e7 - 1e7


def test_uuids_made_at_one_date_differ(emulated: Callable):
    ran = emulated("import uuid\nfor _ in range(100):\n    print(uuid.uuid1())\n", 4)
    assert len(set(lines(ran))) == 400


def test_making_a_uuid_draws_no_random_number(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uuid, "_node", None)  # state in which nobody has asked for it
    ran = emulated(
        """
        import random, uuid
        random.seed(1)
        uuid.uuid1()
        assert random.random() == random.Random(1).random()
        """
    )
    assert ran.code == 0, ran.error


@pytest.mark.parametrize("is_known", [True, False])
def test_the_node_of_a_uuid_is_the_ranks_host(emulated: Callable, monkeypatch: pytest.MonkeyPatch, is_known: bool):
    monkeypatch.setattr(uuid, "_node", uuid.getnode() if is_known else None)
    program = RANK + "import uuid\nprint(MPI.Get_processor_name(), uuid.uuid1().node, uuid.getnode())\n"
    nodes: dict[str, set[str]] = {}
    ran = lines(emulated(program, 4, ranks_per_host=2))
    for line in ran:
        host, *of_rank = line.split()
        nodes.setdefault(host, set()).update(of_rank)
    assert all(len(node) == 1 for node in nodes.values())
    assert len(set.union(*nodes.values())) == len(nodes) == 2
    assert lines(emulated(program, 4, ranks_per_host=2)) == ran
