"""Modules that the standard library looks up by name are the running rank's own: in the program and in a package."""

from collections.abc import Callable
from textwrap import dedent

import pytest

# Every rank has classes of its own, and a module global that differs. `check` is called between two exchanges, so that
# the other rank has run its own import, and half of its own check, in between.
SHAPES = """
    import dataclasses, enum, typing
    from mpi4py import MPI

    RANK = MPI.COMM_WORLD.Get_rank()

    class Point:
        def __init__(self, x):
            self.x = x
        def rank(self):
            '''The module's RANK.

            >>> Point(1).rank() == RANK
            True
            '''
            return RANK
        class Inner:
            label = RANK

    @dataclasses.dataclass
    class Pair:
        left: "Point"
        right: typing.ClassVar[int] = RANK
        count: "int" = RANK

    class Colour(enum.Enum):
        RED = RANK
        BLUE = RANK + 10

    class Flags(enum.Flag):
        A = 1
        B = 2

    def annotated(point: "Point", pairs: "list[Pair]") -> "Colour":
        return point
"""

CHECK = """
    import sys

    def twice(check):
        comm = MPI.COMM_WORLD
        for _ in range(2):
            comm.sendrecv(None, dest=(comm.rank + 1) % comm.size)
            check()
        print(f"ok {comm.rank}")
"""

CHECKS = {
    "pickle": """
        import pickle
        def check():
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                point = pickle.loads(pickle.dumps(Point(3), protocol))
                assert type(point) is Point and point.x == 3 and point.rank() == RANK
                assert pickle.loads(pickle.dumps(Point, protocol)) is Point
                assert pickle.loads(pickle.dumps(Colour.RED, protocol)) is Colour.RED
                assert pickle.loads(pickle.dumps(annotated, protocol)) is annotated
            assert pickle.loads(pickle.dumps(Point.Inner)) is Point.Inner
            assert type(pickle._loads(pickle._dumps(Pair(Point(1))))) is Pair
            there = MPI.COMM_WORLD.sendrecv(Point(RANK), dest=1 - RANK)
            assert type(there) is Point and there.x == 1 - RANK and there.rank() == RANK
    """,
    "copy": """
        import copy, copyreg
        copyreg.pickle(Pair, lambda pair: (Pair, (copy.deepcopy(pair.left), 100 + RANK)))
        def check():
            assert type(copy.copy(Point(2))) is Point
            assert type(copy.deepcopy([Point(2)])[0]) is Point
            assert copy.deepcopy(Pair(Point(2))).count == 100 + RANK
            assert copy.deepcopy(Colour.BLUE) is Colour.BLUE
            assert copy.deepcopy(Point) is Point
    """,
    "dataclasses": """
        import dataclasses
        def check():
            assert [field.name for field in dataclasses.fields(Pair)] == ["left", "count"]
            assert dataclasses.asdict(Pair(1)) == {"left": 1, "count": RANK}
            assert dataclasses.replace(Pair(1), left=2) == Pair(2)
            made = dataclasses.make_dataclass("Made", [("x", "int")])
            assert made(1).x == 1
            namespace = {"__name__": __name__, "dataclasses": dataclasses, "typing": typing}
            late = (
                "from __future__ import annotations",
                "@dataclasses.dataclass",
                "class Late:",
                "    kind: typing.ClassVar[int] = 1",
                "    size: int = 2",
            )
            exec(chr(10).join(late), namespace)
            assert [field.name for field in dataclasses.fields(namespace["Late"])] == ["size"]
    """,
    "typing": """
        import typing
        def check():
            hints = typing.get_type_hints(annotated)
            assert hints == {"point": Point, "pairs": list[Pair], "return": Colour}
            assert typing.get_type_hints(Pair)["left"] is Point
            class Row(typing.NamedTuple):
                point: "Point"
            assert typing.get_type_hints(Row) == {"point": Point}
    """,
    "enum": """
        import enum, pickle
        def check():
            assert Colour.RED.value == RANK and Colour(RANK + 10) is Colour.BLUE
            assert pickle.loads(pickle.dumps(Flags.A | Flags.B)) == Flags.A | Flags.B
            made = enum.Enum("Made", "X Y", module=__name__)
            globals()["Made"] = made
            assert pickle.loads(pickle.dumps(made.X)) is made.X
            enum.global_enum(Colour)
            assert RED is Colour.RED
    """,
    "inspect": """
        import inspect
        def check():
            assert "label = RANK" in inspect.getsource(Point.Inner)
            assert inspect.getsource(annotated).startswith("def annotated")
            assert inspect.getmodule(Point).RANK == RANK
            assert inspect.getfile(Point) == __file__
            assert list(inspect.signature(annotated, eval_str=True).parameters.values())[0].annotation is Point
            assert dict(inspect.getmembers(sys.modules[__name__]))["RANK"] == RANK
            assert inspect.ismodule(sys.modules[__name__])
    """,
    "importlib": """
        import importlib
        def check():
            assert importlib.import_module(__name__).Point is Point
            assert sys.modules[__name__].Point is Point
            assert vars(sys.modules[__name__]) is globals()
            sys.modules[__name__].mark = RANK
            assert mark == RANK
            del sys.modules[__name__].mark
            assert "mark" not in globals()
            assert "Point" in dir(sys.modules[__name__])
            assert __import__(__name__, fromlist=["Point"]).Point is Point
    """,
    "unittest": """
        import io, unittest
        class Tests(unittest.TestCase):
            def test_rank(self):
                self.assertEqual(Point(1).rank(), RANK)
            def test_exchange(self):
                self.assertEqual(MPI.COMM_WORLD.sendrecv(RANK, dest=1 - RANK), 1 - RANK)
        def check():
            report = io.StringIO()
            program = unittest.main(module=__name__, argv=["x"], exit=False,
                                    testRunner=unittest.TextTestRunner(stream=report))
            assert program.result.wasSuccessful() and program.result.testsRun == 2, report.getvalue()
            suite = unittest.defaultTestLoader.loadTestsFromName(f"{__name__}.Tests.test_rank")
            assert suite._tests[0].__class__ is Tests
    """,
    "doctest": """
        import doctest
        def check():
            result = doctest.testmod(sys.modules[__name__])
            assert result.failed == 0 and result.attempted == 1, result
    """,
    "logging": """
        import io, logging
        stream = io.StringIO()
        logging.basicConfig(stream=stream, level=logging.INFO, format=f"[{RANK}] %(name)s %(message)s")
        log = logging.getLogger(__name__)
        class Handler(logging.Handler):
            seen = []
            def emit(self, record):
                self.seen.append(record.getMessage())
        log.addHandler(Handler())
        def check():
            log.info("at %d", Point(1).rank())
            logging.getLogger("other").debug("not this")
            assert logging.getLogger().handlers == logging.root.handlers and len(log.handlers) == 1
            assert set(Handler.seen) == {f"at {RANK}"}
            assert set(stream.getvalue().splitlines()) == {f"[{RANK}] {__name__} at {RANK}"}
            assert log.parent is logging.getLogger()
    """,
}


def with_shapes(module: str) -> str:
    return "".join(dedent(part) for part in (SHAPES, CHECK, CHECKS[module]))


@pytest.mark.parametrize("module", CHECKS)
def test_finds_the_ranks_own_classes_of_main(emulated: Callable, module: str):
    ran = emulated(with_shapes(module) + "twice(check)\n")
    assert ran.error == ""
    assert sorted(ran.out.splitlines()) == ["ok 0", "ok 1"]


@pytest.mark.parametrize("module", CHECKS)
def test_finds_the_ranks_own_classes_of_a_package(emulated: Callable, module: str):
    files = {"package/__init__.py": "", "package/shapes.py": with_shapes(module)}
    ran = emulated("from package import shapes\nshapes.twice(shapes.check)\n", files=files)
    assert ran.error == ""
    assert sorted(ran.out.splitlines()) == ["ok 0", "ok 1"]
