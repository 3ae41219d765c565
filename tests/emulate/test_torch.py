"""State that PyTorch keeps per thread is each rank's own; where it is not installed, a stand-in has its names."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

STAND_IN = """
    import random

    float32, float64 = "float32", "float64"

    class Generator:
        def __init__(self):
            self.source = random.Random(1)

        def get_state(self):
            return self.source.getstate()

        def set_state(self, state):
            self.source.setstate(state)

    class _C:
        records, dtype = True, float32

        @classmethod
        def _set_grad_enabled(cls, mode):
            cls.records = mode

    class no_grad:
        def __enter__(self):
            self.before = _C.records
            _C.records = False

        def __exit__(self, *error):
            _C.records = self.before

    class rand:
        def __init__(self, n):
            self.numbers = [default_generator.source.random() for _ in range(n)]

        def tolist(self):
            return self.numbers

    def is_grad_enabled():
        return _C.records

    def get_default_dtype():
        return _C.dtype

    def set_default_dtype(dtype):
        _C.dtype = dtype

    def manual_seed(seed):
        default_generator.source.seed(seed)

    default_generator = Generator()
"""
PROGRAM = """
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    {wait}
    import torch

    def draws(seed):
        torch.manual_seed(seed)
        return torch.rand(1).tolist() + torch.rand(2).tolist()

    first = torch.rand(2).tolist()
    world.Barrier()
    after = torch.rand(2).tolist()
    assert world.allgather(first) == [first] * world.size
    assert world.allgather(after) == [after] * world.size

    expected = draws(world.rank)
    torch.manual_seed(world.rank)
    mine = torch.rand(1).tolist()
    world.Barrier()
    mine += torch.rand(2).tolist()
    assert mine == expected

    if world.rank == 1:
        torch.set_default_dtype(torch.float64)
        with torch.no_grad():
            world.recv(source=0)
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()
    else:
        assert torch.is_grad_enabled()
        world.send(None, dest=1)
        assert torch.get_default_dtype() == torch.float32
    print(world.rank, torch.get_default_dtype())
"""


@pytest.mark.parametrize("is_real", [False, True])
@pytest.mark.parametrize("wait", ["", "world.Barrier()"])
def test_generator_gradients_and_types_are_those_of_the_rank(tmp_path: Path, wait: str, is_real: bool):
    environment = dict(os.environ)
    if is_real:
        if importlib.util.find_spec("torch") is None:
            pytest.skip("torch is not installed")
    else:
        library = tmp_path / "library"
        library.mkdir()
        (library / "torch.py").write_text(textwrap.dedent(STAND_IN))
        environment["PYTHONPATH"] = str(library)
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM).format(wait=wait))
    smpy = Path(sys.executable).with_name("smpy")
    command = [smpy, "run", "-np", "2", "--quiet", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split(".")[-1].split()[-1] for line in sorted(done.stdout.splitlines())] == ["float32", "float64"]
