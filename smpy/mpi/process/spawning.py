"""Spawning: programs that ranks start on further ranks, with a COMM_WORLD of their own.

MPI says nothing of the time, and SMPI has no such call. Here the root starts the programs when it comes; a broadcast of
4 bytes tells its group, and both groups pay for the intercommunicator, the children before their program begins.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from smpy.engine.launching import CannotStart, Command
from smpy.engine.running import current, mpi_call
from smpy.mpi.collectives.call import check_root
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.comms.creation import Creation
from smpy.mpi.comms.creation_messages import announce, pay_for_new
from smpy.mpi.process.meetings import come_to_date, fail_alike
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.comm_core import member_of
from smpy.mpi.state.exceptions import ERROR_CLASSES, fail
from smpy.mpi.state.exceptions import Exception as MpiException
from smpy.mpi.state.info import INFO_NULL, Info, pairs_of
from smpy.mpi.state.world import Communicator, world

__all__ = ["Spawning"]

_TOLD_BYTES: Final = 4
_SUCCESS: Final = ERROR_CLASSES["SUCCESS"][0]


class Spawning(Creation):
    """Calls that start programs on further ranks."""

    __slots__ = ()

    @mpi_call
    def Spawn(
        self,
        command: Any,
        args: Sequence[str] | None = None,
        maxprocs: int = 1,
        info: Info = INFO_NULL,
        root: int = 0,
        errcodes: list[int] | None = None,
    ) -> Any:
        """Start a Python program on further ranks: an intercommunicator with them.

        Parameters
        ----------
        command : str or path
            Python itself, or a script whose first line names Python; like all that follows, only the root's counts.
        args : sequence of str, optional
            Its arguments.
        maxprocs : int
            Number of ranks.
        info : Info
            Hints: ``host`` and ``hostfile`` say on which hosts, ``wdir`` in which directory.
        root : int
            Rank whose arguments count.
        errcodes : list, optional
            Gets an error code for each new rank.
        """
        communicator, rank = member_of(self, "Spawn")
        root = check_root(communicator, root, "Spawn")
        commands = [_command(command, args, maxprocs, info, "Spawn")] if rank == root else []
        new, counts = self._spawned(communicator, rank, root, commands, "Spawn")
        if errcodes is not None:
            errcodes[:] = [_SUCCESS] * sum(counts)
        return self._handle_or_null(new)

    @mpi_call
    def Spawn_multiple(
        self,
        command: Sequence[Any],
        args: Sequence[Sequence[str]] | None = None,
        maxprocs: Sequence[int] | int | None = None,
        info: Sequence[Info] | Info = INFO_NULL,
        root: int = 0,
        errcodes: list[list[int]] | None = None,
    ) -> Any:
        """Start several Python programs on further ranks, with one COMM_WORLD: an intercommunicator with them.

        Parameters
        ----------
        command : sequence of str or path
            Programs, as `Spawn` takes one.
        args : sequence of sequences of str, optional
            Arguments of each.
        maxprocs : int or sequence of int, optional
            Number of ranks of each; default: 1.
        info : Info or sequence of Info
            Hints of each, or of all.
        root : int
            Rank whose arguments count.
        errcodes : list, optional
            Gets a list of error codes for each program.
        """
        communicator, rank = member_of(self, "Spawn_multiple")
        root = check_root(communicator, root, "Spawn_multiple")
        commands = _commands(command, args, maxprocs, info) if rank == root else []
        new, counts = self._spawned(communicator, rank, root, commands, "Spawn_multiple")
        if errcodes is not None:
            errcodes[:] = [[_SUCCESS] * count for count in counts]
        return self._handle_or_null(new)

    def _spawned(
        self, communicator: Communicator, rank: int, root: int, commands: list[Command], call: str
    ) -> tuple[Communicator, list[int]]:
        """This side of the intercommunicator with new ranks, and their number for each program."""
        collective = enter(communicator, rank, Signature(call, root), dict)
        payload: dict[str, Any] = collective.payload
        if rank == root:
            payload["counts"] = [command.n_ranks for command in commands]
            try:
                come_to_date(call)
                payload["made"] = _start(communicator, commands, call)
            except MpiException as error:
                payload["error"] = error
        announce(communicator, rank, root, _TOLD_BYTES, call)
        collective.leave()
        if "error" in payload:
            fail_alike(payload["error"])
        pay_for_new(payload["made"], rank, call)
        return payload["made"], payload["counts"]


def _command(command: Any, args: Any, maxprocs: Any, info: Any, call: str) -> Command:
    if isinstance(args, (str, bytes)):
        args = [args]
    n_ranks = integer(call, "maxprocs", maxprocs)
    if n_ranks < 0:
        fail("ERR_ARG", f"{call}(maxprocs={n_ranks}): a number of ranks is not negative")
    arguments = tuple(os.fsdecode(arg) for arg in args or ())
    return Command(os.fsdecode(command), arguments, n_ranks, pairs_of(info) if info else {})


def _commands(command: Any, args: Any, maxprocs: Any, info: Any) -> list[Command]:
    call = "Spawn_multiple"
    if isinstance(command, (str, bytes, os.PathLike)):
        raise ValueError(f"{call}: a sequence of commands is expected, not one")  # noqa: TRY004  # as mpi4py
    n = len(command)
    columns: list[list[Any]] = []
    for name, items, default in (("args", args, None), ("maxprocs", maxprocs, 1), ("info", info, INFO_NULL)):
        is_for_all = items is None or isinstance(items, (Info, int))
        if not is_for_all and (isinstance(items, (str, bytes)) or len(items) != n):
            raise ValueError(f"{call}: {name} has to be a sequence of {n} items, one for each command")
        columns.append([default if items is None else items] * n if is_for_all else list(items))
    rows = zip(command, *columns, strict=True)
    return [_command(name, items, count, hints, call) for name, items, count, hints in rows]


def _start(communicator: Communicator, commands: list[Command], call: str) -> Communicator:
    """Start the programs: this side of the intercommunicator with their ranks."""
    launcher = current().launcher
    if launcher is None:
        return fail("ERR_SPAWN", f"{call}: only a program of `smpy run` can start further ones")
    if not sum(command.n_ranks for command in commands):
        return fail("ERR_SPAWN", f"{call}: no rank is asked for")
    sides: list[Communicator] = []

    def begin() -> None:
        side = sides[1]
        pay_for_new(side, current().comm_rank(side.number), call)

    try:
        ranks = launcher.launch(commands, begin)
    except CannotStart as error:
        return fail("ERR_SPAWN", f"{call}: {error}")
    known = world()
    known.new_world(current().world_of(ranks[0]))
    sides += known.new_intercommunicator(communicator.world_ranks(), ranks)
    programs = (number for number, command in enumerate(commands) for _ in range(command.n_ranks))
    for rank, program in zip(ranks, programs, strict=True):
        known.parents[rank], known.program_numbers[rank] = sides[1].number, program
    return sides[0]
