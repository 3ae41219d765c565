"""Programs that ranks start on further ranks."""

import os
import sys
from collections.abc import Callable

import pytest

PARENT = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
"""
CHILD = """
import sys
from mpi4py import MPI
parent, world = MPI.Comm.Get_parent(), MPI.COMM_WORLD
"""


@pytest.fixture
def parent_and_child(emulated: Callable) -> Callable:
    """Runs a program that can start `child.py`: `parent_and_child(parent, child, n_ranks)`."""

    def here(parent: str, child: str, n_ranks: int = 1, **config: object) -> object:
        return emulated(PARENT + parent, n_ranks, files={"child.py": CHILD + child}, **config)

    return here


def test_children_have_a_world_and_arguments_of_their_own(parent_and_child: Callable):
    ran = parent_and_child(
        """
children = world.Spawn(sys.executable, ["child.py", "one", "2"], 3)
assert (children.size, children.remote_size, world.size) == (2, 3, 2)
assert world.allreduce(1) == 2
if world.rank == 0:
    for rank in range(3):
        print(children.recv(source=rank))
children.Disconnect()
""",
        """
assert (world.size, parent.size, parent.remote_size, MPI.COMM_SELF.size) == (3, 3, 2, 1)
assert (world.Get_name(), world.Get_attr(MPI.APPNUM)) == ("MPI_COMM_WORLD", 0)
assert world.allreduce(world.rank) == 3
world.Send(bytes(8), (world.rank + 1) % 3)
world.Recv(bytearray(8))
import os
assert (os.environ["PMI_RANK"], os.environ["PMI_SIZE"]) == (str(world.rank), "3")
parent.send([world.rank, sys.argv[1:], __name__, world.Dup().size, world.Split(world.rank % 2).size], 0)
parent.Disconnect()
assert parent == MPI.Comm.Get_parent() == MPI.COMM_NULL
""",
        2,
    )
    assert ran.error == ""
    assert ran.out.splitlines() == [f"[{rank}, ['one', '2'], '__main__', 3, {[2, 1, 2][rank]}]" for rank in range(3)]
    assert ran.outcome.summary.n_ranks == 5
    assert len(ran.outcome.summary.finish_s) == 5
    assert sum(n for _, n in ran.outcome.summary.inputs.mapping) == 5


def test_modules_of_children_are_their_own(emulated: Callable):
    parent = """
import state
state.seen.append("parent")
world.Spawn(sys.executable, ["sub/child.py"], 2).Barrier()
print(state.seen)
"""
    child = """
import state, own
own.seen.append(world.rank)
print(own.seen, hasattr(state, "x"))
parent.Barrier()
"""
    sub = {"sub/child.py": CHILD + child, "sub/own.py": "seen = []", "sub/state.py": "x = 1"}
    ran = emulated(PARENT + parent, 1, files={"state.py": "seen = []", **sub})
    assert ran.error == ""
    assert sorted(ran.out.splitlines()) == ["['parent']", "[0] True", "[1] True"]


def test_a_script_that_has_changed_is_read_again(emulated: Callable):
    program = """
for word in "one", "other":
    with open("child.py", "w") as file:
        file.write(f"from mpi4py import MPI; MPI.Comm.Get_parent().send('{word}', 0)")
    print(MPI.COMM_SELF.Spawn(sys.executable, ["child.py"]).recv(source=0))
"""
    ran = emulated(PARENT + program, 1)
    assert (ran.error, ran.out) == ("", "one\nother\n")


def test_several_programs_share_a_world(parent_and_child: Callable):
    ran = parent_and_child(
        """
codes = []
commands = [sys.executable] * 2
children = world.Spawn_multiple(commands, [["child.py", "a"], ["child.py", "b"]], [1, 2], errcodes=codes)
print(codes, children.remote_size)
children.Barrier()
""",
        """
print(world.rank, world.size, sys.argv[1], world.Get_attr(MPI.APPNUM))
parent.Barrier()
""",
    )
    assert ran.error == ""
    assert sorted(ran.out.splitlines()) == ["0 3 a 0", "1 3 b 1", "2 3 b 1", "[[0], [0, 0]] 3"]


@pytest.mark.parametrize(
    "command",
    [
        "'./script'",
        "__import__('pathlib').Path('script').resolve()",
        "sys.executable, ['-u', '-W', 'error', './script']",
        "'python3', ['-m', 'module']",
        "sys.executable, ['-c', __import__('pathlib').Path('module.py').read_text()]",
    ],
)
def test_a_command_is_python_or_a_script_that_names_it(emulated: Callable, command: str):
    body = CHILD + "print(world.size)\nparent.Barrier()"
    files = {"script": "#!/usr/bin/env python3\n" + body, "module.py": body}
    ran = emulated(PARENT + f"world.Spawn({command}).Barrier()", 1, files=files)
    assert (ran.error, ran.out) == ("", "1\n")


def test_options_of_python_are_the_flags_of_the_child(emulated: Callable):
    program = """
        import sys
        from mpi4py import MPI
        parent = MPI.Comm.Get_parent()
        if parent == MPI.COMM_NULL:
            for options in (["-dBWi", "-X", "utf8"], ["-OO", "-Xdev", "-I"], []):
                child = MPI.COMM_SELF.Spawn(sys.executable, [*options, __file__], 1)
                print(child.recv(source=0))
                child.Disconnect()
        else:
            flags = sys.flags
            parent.send((flags.debug, flags.utf8_mode, flags.optimize, flags.dev_mode, flags.safe_path), 0)
            parent.Disconnect()
        """
    ran = emulated(program, 1, platform="default")
    plain = (sys.flags.debug, sys.flags.utf8_mode, sys.flags.optimize, sys.flags.dev_mode, sys.flags.safe_path)
    assert (ran.error, ran.out) == (
        "",
        f"(1, 1, {plain[2]}, {plain[3]}, {plain[4]})\n(0, {plain[1]}, 2, True, True)\n{plain}\n",
    )


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("'/bin/ls'", "'/bin/ls' is no Python program"),
        ("'nothing-of-this-name'", "there is no program 'nothing-of-this-name'"),
        ("sys.executable, ['missing.py']", "there is no program"),
        ("sys.executable", "with arguments [] is no program"),
        ("sys.executable, ['child.py'], 1000", "1000 ranks need as many free cores, and there are 126"),
        ("sys.executable, ['child.py'], 0", "no rank is asked for"),
        ("sys.executable, ['child.py'], 1, MPI.Info.Create({'host': 'h'})", "the platform has no host 'h'"),
        ("sys.executable, ['child.py'], 1, MPI.Info.Create({'wdir': '/missing'})", "there is no directory '/missing'"),
    ],
)
def test_a_command_that_cannot_start_is_an_error_on_all_ranks(parent_and_child: Callable, command: str, reason: str):
    ran = parent_and_child(
        f"""
try:
    world.Spawn({command})
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_SPAWN
    print(error)
world.Barrier()
""",
        "",
        2,
    )
    assert ran.error == ""
    told = ran.out.splitlines()
    assert len(told) == 2
    assert all(reason in line for line in told)


TWO_HOSTS = """<?xml version="1.0"?><platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us" core="2"/></platform>"""


def test_children_take_cores_that_are_free_and_give_them_back(emulated: Callable):
    program = """
import sys, time
from mpi4py import MPI
for hint in {"host": "n1"}, {"hostfile": "hosts"}, {}:
    children = MPI.COMM_SELF.Spawn(sys.executable, ["child.py"], 2, MPI.Info.Create(hint))
    print(children.gather(None, MPI.ROOT))
    time.sleep(1)
print(MPI.COMM_SELF.Spawn(sys.executable, ["child.py"], 3).gather(None, MPI.ROOT))
MPI.COMM_SELF.Spawn(sys.executable, ["child.py"], 4)
"""
    files = {"child.py": CHILD + "parent.gather(MPI.Get_processor_name(), 0)", "c.xml": TWO_HOSTS, "hosts": "n1:2"}
    ran = emulated(program, 1, files=files, platform="c.xml")
    assert "4 ranks need as many free cores, and there are " in ran.error
    assert ran.out.splitlines() == ["['n1', 'n1']", "['n1', 'n1']", "['n0', 'n1']", "['n0', 'n1', 'n1']"]


def test_a_start_takes_its_place_in_simulated_time(parent_and_child: Callable):
    ran = parent_and_child(
        """
import time
if world.rank == 0:
    time.sleep(2)
children = world.Spawn(sys.executable, ["child.py"], 2)
assert 2 <= MPI.Wtime() < 2.001
""",
        "assert 2 <= MPI.Wtime() < 2.001",
        2,
    )
    assert ran.error == ""


def test_what_a_start_costs_is_a_number_of_the_machine(parent_and_child: Callable):
    ran = parent_and_child(
        'world.Spawn(sys.executable, ["child.py"], 2)\nassert 0.05 <= MPI.Wtime() < 0.0501',
        "assert 0.05 <= MPI.Wtime() < 0.0501",
        platform="default",
        options=(("mpi.spawn", "50ms"),),
    )
    assert ran.error == ""


def test_children_that_wait_for_parents_that_have_ended_are_named(parent_and_child: Callable):
    ran = parent_and_child('world.Spawn(sys.executable, ["child.py"], 2)', "parent.Recv(bytearray(1), 0)")
    assert "2 ranks wait for messages nobody will send" in ran.error
    assert "ranks 1-2: Recv(source=0, tag=ANY_TAG)" in ran.error
    assert "child.py:5" in ran.error
    assert "Rank 0 has ended" in ran.error


def test_a_deadlock_of_parents_and_children_names_both(parent_and_child: Callable):
    ran = parent_and_child(
        'world.Spawn(sys.executable, ["child.py"], 1).Recv(bytearray(1), 0)', "parent.Recv(bytearray(1), 0)"
    )
    assert "rank 0: Recv(source=0" in ran.error
    assert "rank 1: Recv(source=0" in ran.error


def test_the_failure_of_a_child_ends_the_run(parent_and_child: Callable):
    ran = parent_and_child('world.Spawn(sys.executable, ["child.py"], 2).Barrier()', "1 / 0")
    assert "rank 1 failed" in ran.error
    assert "ZeroDivisionError" in ran.error


def test_starting_without_end_ends_when_the_machine_is_full(emulated: Callable):
    program = PARENT + "MPI.COMM_SELF.Spawn(sys.executable, [__file__]).recv(source=0)"
    assert "need as many free cores, and there are 0" in emulated(program, 1).error


def test_the_same_run_with_children_has_the_same_dates(parent_and_child: Callable):
    parent = """
children = world.Spawn(sys.executable, ["child.py"], 4)
print(children.gather(None, MPI.PROC_NULL if world.rank else MPI.ROOT))
"""
    programs = parent, "world.Barrier(); parent.gather(MPI.Wtime(), 0)", 2
    first, again = (parent_and_child(*programs) for _ in range(2))
    assert first.error == again.error == ""
    assert (first.out, list(first.outcome.summary.finish_s)) == (again.out, list(again.outcome.summary.finish_s))
    assert len(first.outcome.summary.profile.host_of_rank) == 6


def test_a_child_s_directory_is_that_of_the_hint(emulated: Callable):
    ran = emulated(
        PARENT + "world.Spawn(sys.executable, ['c.py'], 1, MPI.Info.Create({'wdir': 'sub'})).Barrier()\n"
        "import os; print(os.path.basename(os.getcwd()) != 'sub')",
        1,
        files={"sub/c.py": CHILD + "import os; print(os.path.basename(os.getcwd()))\nparent.Barrier()"},
    )
    assert ran.error == ""
    assert sorted(ran.out.splitlines()) == ["True", "sub"]
    assert os.path.basename(os.getcwd()) != "sub"
