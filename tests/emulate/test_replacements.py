"""Replacements of Python's functions and objects behave as the originals do."""

import copy
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, SimpleNamespace
from typing import Any

import pytest

from smpy.emulate.patches import LastingPatches, Patches
from smpy.emulate.replacement import _ROUTINES


def outcome(function: Callable[..., Any], *args: Any) -> object:
    """Return value of a function, or the kind of error it raises."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001  # whatever the original raises
        return type(error)


def is_kept_by_a_class(function: Any) -> bool:
    return type("Holder", (), {"function": function})().function is function


def pickled(function: Any) -> object:
    """The bytes; of the method of a random generator, whose state is its own, what they are loaded as."""
    data = pickle.dumps(function)
    return data if pickle.loads(data) is function else type(pickle.loads(data))


BEHAVIOURS: dict[str, Callable[[Any], object]] = {
    "binds": is_kept_by_a_class,
    "names": lambda function: [getattr(function, name) for name in ("__module__", "__name__", "__qualname__")],
    "documentation": lambda function: function.__doc__,
    "signature": lambda function: str(outcome(inspect.signature, function)),  # a default may be NaN
    "text_signature": lambda function: getattr(function, "__text_signature__", None),
    "pickle": lambda function: outcome(pickled, function),
    "copy": lambda function: type(copy.copy(function)) is type(function),
    "deepcopy": lambda function: outcome(lambda: copy.deepcopy(function) is function),  # methods of some objects fail
    "module": lambda function: getattr(getattr(function, "__self__", None), "__name__", None),
}


def behaviour(function: Any) -> dict[str, object]:
    return {what: ask(function) for what, ask in BEHAVIOURS.items()}


def refused_keywords(original: Any, value: Any) -> list[str]:
    """Parameters that only the original takes by name."""
    try:
        parameters = inspect.signature(original).parameters.values()
        signature = inspect.signature(value, follow_wrapped=False)
    except ValueError:  # a builtin without a signature
        return []
    named = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    return [name for name in named if isinstance(outcome(lambda name=name: signature.bind_partial(**{name: 0})), type)]


def test_every_replaced_function_behaves_as_the_original(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    import numpy.random  # noqa: F401  # its functions are methods, which are made anew otherwise
    import scipy.fft
    import scipy.interpolate
    import scipy.linalg
    import scipy.optimize  # noqa: F401  # has a function whose public name is another one than its own

    replaced: dict[str, tuple[Any, str, Any]] = {}
    refused: dict[str, list[str]] = {}
    found = {}
    replace = Patches.attribute

    def attribute(self: Patches, owner: Any, name: str, value: object) -> None:
        before = vars(owner).get(name)
        if isinstance(before, _ROUTINES) and not isinstance(value, BuiltinFunctionType):
            replaced.setdefault(f"{owner.__name__}.{name}", (owner, name, before))
            refused[f"{owner.__name__}.{name}"] = refused_keywords(before, value)
        replace(self, owner, name, value)

    def look() -> None:
        found.update({key: behaviour(vars(owner)[name]) for key, (owner, name, _) in replaced.items()})

    monkeypatch.setattr(Patches, "attribute", attribute)
    monkeypatch.setattr(LastingPatches, "apply", lambda self, patches: self._make(patches))  # also in a later run
    monkeypatch.setitem(sys.modules, "checks", SimpleNamespace(look=look))
    ran = emulated(
        """
        import asyncio, concurrent.futures, logging, multiprocessing.shared_memory, numpy.random, runpy, subprocess, sys
        import tempfile
        sys.modules["checks"].look()
        """,
        1,
    )
    assert ran.error == ""
    assert found == {key: behaviour(original) for key, (_, _, original) in replaced.items()}
    assert {key: names for key, names in refused.items() if names} == {}
    wanted = {"time.perf_counter", "random.random", "random.randint", "os._exit", "numpy.random.rand"}
    assert wanted | {"scipy.linalg.solve", "scipy.linalg.solve_lyapunov"} <= found.keys()


def test_every_run_replaces_the_functions_that_a_module_has_and_puts_them_back(
    emulated: Callable, monkeypatch: pytest.MonkeyPatch
):
    import scipy.linalg

    used: list[Callable] = []
    monkeypatch.setitem(sys.modules, "checks", SimpleNamespace(used=used))
    looks = 'import scipy.linalg, sys; sys.modules["checks"].used.append(scipy.linalg.solve)'

    def functions() -> dict[str, Any]:
        return vars(scipy.linalg) | vars(scipy.linalg.lapack)

    before = functions()
    for _ in range(2):
        assert emulated(looks, 1).error == ""
        assert functions() == before
    first, second = used
    assert first is second is not before["solve"]

    monkeypatch.setattr(scipy.linalg, "solve", planted := lambda *_: "planted")
    planted.__module__ = "scipy.linalg"
    changed = functions()
    assert emulated(looks, 1).error == ""
    assert functions() == changed
    assert used[-1] not in (first, planted)
    assert used[-1]() == "planted"


def test_functions_that_a_class_stores_do_not_take_its_instance(emulated: Callable):
    ran = emulated(
        """
        import logging, os, random, sys, time
        import numpy as np
        class Stored:
            clock, nap, draw, pick, normal, where = (
                time.perf_counter, time.sleep, random.random, random.choice, np.random.normal, time.localtime)
        stored = Stored()
        assert stored.clock() < 1 and 0 <= stored.draw() < 1 and stored.pick([3]) == 3
        assert stored.normal(size=2).shape == (2,) and stored.where(0).tm_year in (1969, 1970)
        stored.nap(2)
        logging.basicConfig(format="%(asctime)s %(relativeCreated)d %(message)s", stream=sys.stdout)
        logging.Formatter.converter = time.gmtime
        logging.warning("logged")
        """,
        1,
    )
    assert ran.error == ""
    assert ran.out == "2020-09-13 12:26:42,000 2000 logged\n"


def test_pickles_of_replaced_functions_load_outside_a_run(smpy_run: Callable, tmp_path: Path):
    ran = smpy_run(
        """
        import os, pickle, random, time
        import numpy as np
        random.seed(5)
        np.random.seed(5)
        assert np.random.rand.__self__ is np.random.mtrand._rand
        functions = time.time, time.sleep, os.urandom, os._exit, random.random, np.random.rand, np.random.mtrand._rand
        for number, module in enumerate(("pickle", "cloudpickle", "dill")):
            try:
                dumps = __import__(module).dumps
            except ImportError:
                continue
            with open(f"{module}.pickle", "wb") as file:
                file.write(dumps(functions))
        """,
        1,
        "--quiet",
    )
    assert ran.err == ""
    load = """if True:
        import os, pickle, random, sys, time
        import numpy as np
        random.seed(5)
        np.random.seed(5)
        value, values = random.random(), np.random.rand(2).tolist()
        for path in sys.argv[1:]:
            clock, sleep, urandom, exit_, draw, rand, generator = pickle.loads(open(path, "rb").read())
            assert (clock, sleep, urandom, exit_) == (time.time, time.sleep, os.urandom, os._exit)
            assert rand.__self__ is generator
            assert draw() == value and rand(1)[0] == values[0] and generator.rand() == values[1]
        print("loaded")
        """
    files = [str(path) for path in tmp_path.glob("*.pickle")]
    done = subprocess.run([sys.executable, "-c", load, *files], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("loaded\n", "")
    assert files


def test_the_environment_is_copied_as_the_original_is(emulated: Callable):
    ran = emulated(
        """
        import copy, os, pickle
        os.environ["A"] = "1"
        assert os.environ | {"B": "2"} == dict(os.environ) | {"B": "2"} == {"B": "2"} | os.environ
        assert os.environ.copy() == dict(os.environ) == os.environ and os.environb[b"A"] == b"1" == os.getenvb(b"A")
        shared, own = copy.copy(os.environ), copy.deepcopy(os.environ)
        assert type(shared) is type(own) is os._Environ and own == os.environ
        shared["A"], own["A"] = "2", "3"
        assert os.environ["A"] == os.getenv("A") == "2"
        os.environb[b"A"] = b"4"
        assert os.environ["A"] == "4"
        try:
            pickle.dumps(os.environ)
        except Exception as error:
            print(type(error))
        """,
        2,
    )
    assert ran.error == ""
    assert ran.out.splitlines() == [str(outcome(pickle.dumps, os.environ))] * 2


def test_streams_and_sys_are_no_more_picklable_than_the_originals(emulated: Callable):
    ran = emulated(
        """
        import copy, pickle, sys
        for original in (sys, sys.stdout, sys.stderr):
            for attempt in (copy.deepcopy, pickle.dumps):
                try:
                    attempt(original)
                    print("not refused", original, attempt)
                except TypeError:
                    pass
        """,
        2,
    )
    assert (ran.error, ran.out) == ("", "")


@pytest.mark.parametrize("module", ["cloudpickle", "dill"])
def test_a_function_that_uses_sys_is_pickled_by_value(smpy_run: Callable, module: str):
    if find_spec(module) is None:  # it is not imported here: it keeps what it has found as `__main__`
        pytest.skip(f"{module} is not installed")
    ran = smpy_run(
        f"""
        import sys, time
        from mpi4py import MPI
        import {module} as pickler
        comm = MPI.COMM_WORLD
        out = sys.stdout
        def tell(rank):
            print(rank, sys.argv[1:], time.time() > 0, out is sys.stdout, file=out)
        there = pickler.loads(comm.sendrecv(pickler.dumps(tell), 1 - comm.rank))
        there(comm.rank)
        """,
        2,
        "--quiet",
        args=("--mine",),
    )
    assert ran.err == ""
    assert sorted(ran.out.splitlines()) == ["0 ['--mine'] True True", "1 ['--mine'] True True"]
