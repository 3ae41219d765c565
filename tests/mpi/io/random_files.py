"""A random program of files, checked against a plain model: `random_files.py SEED N_STEPS PATH LEAST` prints digests.

All ranks draw alike, and each of them models what all do: the file is a bytearray, a view the numbers of the bytes that
it shows. Steps are apart by Sync, Barrier, Sync; within a step no byte is accessed by two ranks one of which writes.
With LEAST bytes in the file from the beginning, nothing is accessed behind its end: what a short read does to pointers,
and what gaps behind the end become, is not the same in MPICH.
"""

from __future__ import annotations

import hashlib
import random
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

ETYPES = [("BYTE", 1), ("INT16_T", 2), ("INT", 4), ("DOUBLE", 8)]
TILE_ETYPES_MAX = 12


@dataclass
class ModelView:
    """A view as one rank has it: bytes of a tile, its extent, and MPI's arguments."""

    displacement: int
    etype: tuple[str, int]
    places: np.ndarray  # of the etypes in a tile
    extent: int  # of a tile, in etypes
    make: Any  # callable of the etype: MPI's filetype

    def bytes_of(self, first: int, n: int) -> np.ndarray:
        """Numbers of the bytes of `n` etypes from the `first` on."""
        at = np.arange(first, first + n)
        tile, rest = np.divmod(at, len(self.places))
        etypes = tile * self.extent + self.places[rest]
        size = self.etype[1]
        return (self.displacement + etypes[:, None] * size + np.arange(size)).ravel()


def view(draw: random.Random, etype: tuple[str, int], n_ranks: int, rank: int, cyclic: int) -> ModelView:
    """A random view; its tile begins where the etype does."""
    displacement = draw.choice([0, 0, draw.randrange(40)])
    kind = draw.choice(["plain", "contiguous", "vector", "indexed", "subarray", "darray", "hindexed"])
    n = draw.randint(1, 4)
    if kind == "plain":
        return ModelView(displacement, etype, np.arange(1), 1, lambda old: old)
    if kind == "contiguous":
        return ModelView(displacement, etype, np.arange(n), n, lambda old: old.Create_contiguous(n))
    if kind == "vector":
        block, gap = draw.randint(1, 3), draw.randrange(3)
        stride = block + gap
        places = (np.arange(n)[:, None] * stride + np.arange(block)).ravel()
        extent = n * stride + draw.randrange(3)
        return ModelView(
            displacement, etype, places, extent,
            lambda old: old.Create_vector(n, block, stride).Create_resized(0, extent * etype[1]),
        )  # fmt: skip
    if kind in ("indexed", "hindexed"):
        places = np.array(sorted(draw.sample(range(TILE_ETYPES_MAX), n)))
        extent = int(places[-1]) + 1 if kind == "indexed" else TILE_ETYPES_MAX
        if kind == "indexed":  # the lower bound is the first place: the tile is shorter, and what it shows begins there
            extent -= int(places[0])
            return ModelView(
                displacement, etype, places, extent, lambda old: old.Create_indexed([1] * n, places.tolist())
            )
        return ModelView(
            displacement, etype, places, extent,
            lambda old: old.Create_hindexed([1] * n, (places * etype[1]).tolist()).Create_resized(0, extent * etype[1]),
        )  # fmt: skip
    if kind == "subarray":
        shape = [draw.randint(1, 4), draw.randint(1, 4)]
        box = [draw.randint(1, size) for size in shape]
        first = [draw.randrange(size - length + 1) for size, length in zip(shape, box, strict=True)]
        numbers = np.arange(shape[0] * shape[1]).reshape(shape)
        places = numbers[first[0] : first[0] + box[0], first[1] : first[1] + box[1]].ravel()
        return ModelView(displacement, etype, places, numbers.size, lambda old: old.Create_subarray(shape, box, first))
    length, block = draw.randint(n_ranks, 3 * n_ranks), draw.randint(1, 2)
    mine = np.arange(length)[np.arange(length) // block % n_ranks == rank]
    if not len(mine):
        return ModelView(displacement, etype, np.arange(1), 1, lambda old: old)
    return ModelView(
        displacement, etype, mine, length,
        lambda old: old.Create_darray(n_ranks, rank, [length], [cyclic], [block], [n_ranks]),
    )  # fmt: skip


class Program:
    """The program of one rank, and the model of all ranks."""

    def __init__(self, mpi: Any, seed: str, path: str, least: int) -> None:
        self.mpi, self.comm = mpi, mpi.COMM_WORLD
        self.draw = random.Random(seed)
        self.n, self.rank = self.comm.size, self.comm.rank
        self.least = least
        self.content = bytearray(least)
        self.own = [0] * self.n
        self.shared = 0
        self.received = hashlib.blake2b(digest_size=8)
        self.file = mpi.File.Open(self.comm, path, mpi.MODE_RDWR | mpi.MODE_CREATE)
        self.file.Set_size(0)
        self.file.Set_size(least)
        self.set_view()

    def set_view(self) -> None:
        etype = self.draw.choice(ETYPES)
        self.is_same = self.draw.random() < 0.5
        if self.is_same:
            chosen = view(self.draw, etype, 1, 0, self.mpi.DISTRIBUTE_CYCLIC)
            self.views = [chosen] * self.n
        else:
            self.views = [view(self.draw, etype, self.n, rank, self.mpi.DISTRIBUTE_CYCLIC) for rank in range(self.n)]
        mine = self.views[self.rank]
        old = getattr(self.mpi, etype[0])
        made = mine.make(old)
        if made != old:
            made.Commit()
        self.file.Set_view(mine.displacement, old, made, self.draw.choice(["native", "native", "internal"]))
        self.own, self.shared = [0] * self.n, 0

    def step(self) -> None:
        kind = self.draw.choice(
            ["set_view", "resize", "seek", "seek_shared", "offsets"]
            + 3 * ["explicit", "own", "own"] + 2 * (["shared", "ordered"] if self.is_same else ["explicit"])
        )  # fmt: skip
        getattr(self, f"_{kind}")()
        self.file.Sync()
        self.comm.Barrier()
        self.file.Sync()

    # ---- steps without data ----

    def _set_view(self) -> None:
        self.set_view()

    def _resize(self) -> None:
        size = max(self.least, self.draw.randrange(len(self.content) + 50))
        if self.draw.random() < 0.5:
            self.file.Set_size(size)
            self.content = self.content[:size].ljust(size, b"\0")
        else:
            self.file.Preallocate(size + 1)
            self.content = self.content.ljust(size + 1, b"\0")
        assert self.file.Get_size() == len(self.content)

    def _before_end(self, rank: int) -> int:
        """Number of etypes that begin before the end of the file."""
        seen = self.views[rank]
        firsts = seen.bytes_of(0, len(self.content) + 2)[:: seen.etype[1]]
        return int((firsts < len(self.content)).sum())

    def _seek(self) -> None:
        for rank in range(self.n):
            whence = self.draw.choice(["SEEK_SET", "SEEK_CUR", "SEEK_END"])
            origin = {"SEEK_SET": 0, "SEEK_CUR": self.own[rank], "SEEK_END": self._before_end(rank)}[whence]
            target = self.draw.randrange(20)
            if rank == self.rank:
                self.file.Seek(target - origin, getattr(self.mpi, whence))
            self.own[rank] = target
        assert self.file.Get_position() == self.own[self.rank]

    def _seek_shared(self) -> None:
        if self.is_same:
            self.shared = self.draw.randrange(20)
            self.file.Seek_shared(self.shared)
            assert self.file.Get_position_shared() == self.shared

    def _offsets(self) -> None:
        offset = self.draw.randrange(50)
        assert self.file.Get_byte_offset(offset) == self.views[self.rank].bytes_of(offset, 1)[0]

    # ---- steps with data ----

    def _explicit(self) -> None:
        self._access([self.draw.randrange(25) for _ in range(self.n)], "_at")

    def _own(self) -> None:
        self._access(list(self.own), "")

    def _shared(self) -> None:
        one = self.draw.randrange(self.n)
        counts = [self.draw.randint(0, 6) if rank == one else 0 for rank in range(self.n)]
        self._move([self.shared] * self.n, counts, self.draw.random() < 0.5, "_shared", only=one)
        self.shared += counts[one]

    def _ordered(self) -> None:
        counts = [self.draw.randint(0, 6) for _ in range(self.n)]
        places = [self.shared + sum(counts[:rank]) for rank in range(self.n)]
        self._move(places, counts, self.draw.random() < 0.5, "_ordered")
        self.shared += sum(counts)

    def _access(self, places: list[int], form: str) -> None:
        is_write = self.draw.random() < 0.5
        together = self.draw.choice(["", "_all"])
        counts = [self.draw.randint(0, 8) for _ in range(self.n)]
        if is_write:
            taken: set[int] = set()
            for rank in range(self.n):
                wanted = set(self.views[rank].bytes_of(places[rank], counts[rank]).tolist())
                if taken & wanted:
                    counts[rank] = 0
                else:
                    taken |= wanted
        self._move(places, counts, is_write, form + together)

    def _move(self, places: list[int], counts: list[int], is_write: bool, form: str, only: int | None = None) -> None:
        """Write or read `counts` etypes at `places`."""
        before = bytes(self.content)
        numbers = np.random.default_rng(self.draw.randrange(1 << 30))
        how = self.draw.choice(["plain", "begin", "non-blocking"])
        got = [self._modelled(rank, places[rank], counts[rank], is_write, before, numbers) for rank in range(self.n)]
        if form in ("", "_all"):
            for rank in range(self.n):
                self.own[rank] += len(got[rank]) // self.views[rank].etype[1]
        if only is None or only == self.rank:
            self._perform(places[self.rank], counts[self.rank], got[self.rank], is_write, form, how)

    def _modelled(
        self, rank: int, place: int, count: int, is_write: bool, before: bytes, numbers: np.random.Generator
    ) -> bytes:
        seen = self.views[rank]
        wanted = seen.bytes_of(place, count)
        if not is_write:
            return bytes(before[at] for at in wanted if at < len(before))
        data = numbers.integers(0, 256, len(wanted), dtype="B").tobytes()
        if len(wanted):
            self.content = self.content.ljust(int(wanted.max()) + 1, b"\0")
            for at, byte in zip(wanted.tolist(), data, strict=True):
                self.content[at] = byte
        return data

    def _perform(self, place: int, count: int, expected: bytes, is_write: bool, form: str, how: str) -> None:
        mpi, seen = self.mpi, self.views[self.rank]
        verb, size = "Write" if is_write else "Read", seen.etype[1]
        etype = getattr(mpi, seen.etype[0])
        gap = self.draw_of_memory(count)
        memory = np.full(count * gap * size, 170, "B")
        entries = memory.reshape(count, gap, size)
        if is_write:
            entries[:, 0] = np.frombuffer(expected, "B").reshape(count, size)
        datatype = etype if gap == 1 else etype.Create_resized(0, gap * size).Commit()
        spec = [memory, count, datatype]
        at = (place,) if form.startswith("_at") else ()
        status = mpi.Status()
        if how == "begin" and form.endswith(("_all", "_ordered")):
            getattr(self.file, f"{verb}{form}_begin")(*at, spec)
            getattr(self.file, f"{verb}{form}_end")(spec, status)
        elif how == "non-blocking" and form != "_ordered":
            getattr(self.file, f"I{verb.lower()}{form}")(*at, spec).Wait(status)
        else:
            getattr(self.file, f"{verb}{form}")(*at, spec, status)
        assert status.Get_count(mpi.BYTE) == len(expected), (form, verb)
        if not is_write:
            found = entries[:, 0].tobytes()
            assert found[: len(expected)] == expected, (form, verb)
            assert found[len(expected) :].count(170) == len(found) - len(expected)
            self.received.update(expected)
        assert (entries[:, 1:] == 170).all()

    def draw_of_memory(self, count: int) -> int:
        """Entries from one to the next in memory; a rank's own draw, which changes no file."""
        return 1 + (count * 7 + self.rank) % 3 % 2

    def finish(self, path: str) -> str:
        self.file.Close()
        with open(path, "rb") as file:
            found = file.read()
        assert found == self.content
        return f"rank {self.rank}: {self.received.hexdigest()} {hashlib.blake2b(found, digest_size=8).hexdigest()}"


def run(mpi: Any, seed: str, n_steps: int, path: str, least: int = 0) -> str:
    """Digests of all that a rank reads and of the file that comes out."""
    program = Program(mpi, seed, path, least)
    for _ in range(n_steps):
        program.step()
    return program.finish(path)


if __name__ == "__main__":
    from mpi4py import MPI

    lines = MPI.COMM_WORLD.gather(run(MPI, sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
    if lines:
        print("\n".join(lines))
