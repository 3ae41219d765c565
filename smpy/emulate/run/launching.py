"""Starts programs on further ranks: the Python program of each command, on free cores of the machine."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate.modules.codes import CodeSupply
from smpy.emulate.modules.privacy import Privacy
from smpy.emulate.process_state import PerRankProcessState
from smpy.emulate.ranks import RankState
from smpy.emulate.run.lifetime import Lifetime
from smpy.emulate.run.program import ModuleProgram, Program, TextProgram, open_program
from smpy.emulate.run.python_options import PythonLine, read_python_line
from smpy.engine.launching import CannotStart, Command
from smpy.engine.running import named_call
from smpy.errors import SmpyError
from smpy.platforms.placement.host_order import ordered_hosts
from smpy.platforms.placement.hostfile import read_hostfile

if TYPE_CHECKING:
    from smpy.engine.engine import Engine
    from smpy.options import RunConfig

_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?")
_FIRST_LINE_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class _Start:
    """A rank's program, with its arguments and starting state.

    Attributes
    ----------
    program : Program
        The program.
    args : tuple of str
        Its arguments.
    directory : str
        Its working directory at the start.
    flags : object or None
        Its `sys.flags`; None: those of all ranks.
    begin : callable
        Connects the rank with those that have started it.
    """

    program: Program
    args: tuple[str, ...]
    directory: str
    flags: Any = None
    begin: Callable[[], None] = lambda: None

    def prepare(self, state: RankState) -> Program:
        """Prepare the running rank for the program."""
        path = [self.program.home, *sys.path[1:]]
        sys.argv[:], sys.path[:] = [self.program.name, *self.args], path
        if self.flags is not None:
            sys.flags = self.flags
        if self.directory != os.getcwd():
            os.chdir(self.directory)
        self.begin()
        return self.program


class ProgramLauncher:
    """Starter of programs on further ranks.

    Parameters
    ----------
    engine : Engine
        The ranks' engine.
    config : RunConfig
        The run.
    supply : CodeSupply
        Gives ranks the code that they execute.
    lifetime : Lifetime
        The life of each rank.
    privacy : Privacy
        Tells which modules are private.
    settings : PerRankProcessState
        Process-wide state of each rank.
    """

    def __init__(
        self,
        engine: Engine,
        config: RunConfig,
        supply: CodeSupply,
        lifetime: Lifetime,
        privacy: Privacy,
        settings: PerRankProcessState,
    ) -> None:
        self._engine = engine
        self._config = config
        self._supply = supply
        self._lifetime = lifetime
        self._privacy = privacy
        self._settings = settings
        self._programs: dict[tuple[str, str, object], Program] = {}

    def launch(self, commands: Sequence[Command], begin: Callable[[], None]) -> range:
        """Start programs at the running rank's date, on new ranks that share one COMM_WORLD.

        Parameters
        ----------
        commands : sequence of Command
            The programs.
        begin : callable
            Called on each new rank before its program.

        Returns
        -------
        range
            The new world ranks.

        Raises
        ------
        CannotStart
            If a command is no Python program, or the machine has too few free cores.
        """
        starts = [(self._start_of(command), command) for command in commands]
        hosts = self._hosts_for(commands)
        starting = [start for start, command in starts for _ in range(command.n_ranks)]

        @named_call("Spawn")
        def start_up() -> None:
            if self._engine.spawn_s > 0:
                self._engine.spend_overhead(self._engine.spawn_s)
            begin()

        ranks = self._engine.add_ranks(hosts)
        self._settings.add_ranks(len(ranks))
        for rank, start in zip(ranks, starting, strict=True):
            self._lifetime.starts[rank] = replace(start, begin=start_up).prepare
        return ranks

    # ---- programs ----

    def _start_of(self, command: Command) -> _Start:
        directory = os.path.abspath(command.hints.get("wdir") or os.getcwd())
        if not os.path.isdir(directory):
            raise CannotStart(f"there is no directory {directory!r} (hint wdir)")
        kind, what, args, flags = _python_program(command, directory)
        key = (kind, what, _version_of(what) if kind == "script" else directory)
        try:
            if key not in self._programs:
                self._programs[key] = self._open(kind, what, directory)
        except SmpyError as error:
            raise CannotStart(str(error)) from None
        program = self._programs[key]
        self._privacy.add_home(program.home)
        return _Start(program, args, directory, flags)

    def _open(self, kind: str, what: str, directory: str) -> Program:
        if kind == "text":
            return TextProgram(what, self._supply, directory)
        if kind == "module":
            return ModuleProgram(what, self._supply, directory)
        return open_program(what, is_module=False, supply=self._supply)

    # ---- hosts ----

    @cached_property
    def _host_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._engine.platform.host_names)}

    def _hosts_for(self, commands: Sequence[Command]) -> list[int]:
        """A host with free cores, for each rank."""
        engine, platform, n_cores = self._engine, self._engine.platform, self._config.cpus_per_task
        living = (rank for rank, finish_s in enumerate(engine.finish_s()) if isnan(finish_s))
        taken = Counter(engine.hosts_of(living))
        chosen: list[int] = []
        for command in commands:
            hosts = self._allowed_hosts(command)
            for _ in range(command.n_ranks):
                host = next((host for host in hosts if taken[host] < platform.cores(host) // n_cores), None)
                if host is None:
                    free = sum(max(0, platform.cores(host) // n_cores - taken[host]) for host in dict.fromkeys(hosts))
                    needed = "as many free cores" if n_cores == 1 else f"{n_cores} free cores each"
                    room = f"there are {len(chosen) + free}" if n_cores == 1 else f"{len(chosen) + free} can have them"
                    raise CannotStart(
                        f"{sum(each.n_ranks for each in commands)} ranks need {needed}, and {room}: start fewer, or "
                        "take a larger platform"
                    )
                taken[host] += 1
                chosen.append(host)
        return chosen

    def _allowed_hosts(self, command: Command) -> Sequence[int]:
        """Hosts that a command may use, in order."""
        platform = self._engine.platform
        if names := command.hints.get("host"):
            unknown = [name for name in names.split(",") if name not in self._host_numbers]
            if unknown:
                raise CannotStart(f"the platform has no host {unknown[0]!r} (hint host)")
            return [self._host_numbers[name] for name in names.split(",")]
        if path := command.hints.get("hostfile"):
            try:
                return read_hostfile(path, platform)
            except SmpyError as error:
                raise CannotStart(str(error)) from None
        return ordered_hosts(platform.host_names, self._config.host_order or "natural")


def _python_program(command: Command, directory: str) -> PythonLine:
    """The Python program of a command; a script is named by its path."""
    if _is_python(command.name):
        line = read_python_line(command.args)
        if not line.kind:
            raise CannotStart(
                f"{command.name!r} with arguments {list(command.args)} is no program: name a script, -m or -c"
            )
        return line._replace(what=os.path.join(directory, line.what)) if line.kind == "script" else line
    path = _found(command, directory)
    if path is None:
        raise CannotStart(f"there is no program {command.name!r}")
    if os.path.isfile(path):
        with open(path, "rb") as file:
            first = file.readline(_FIRST_LINE_MAX)
        words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
        if any(_PYTHON.fullmatch(os.path.basename(word)) for word in words[:2]):
            return PythonLine("script", path, command.args)
    raise CannotStart(
        f"{command.name!r} is no Python program: smpy starts Python itself (sys.executable) with a script, a module or "
        "a text, and scripts whose first line names Python (#!)"
    )


def _version_of(path: str) -> tuple[int, int] | None:
    """Date and size of a file, which differ if it changed; None if the file does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _is_python(name: str) -> bool:
    return name == sys.executable or _PYTHON.fullmatch(os.path.basename(name)) is not None


def _found(command: Command, directory: str) -> str | None:
    """Path of a program: in the hint's directories, in the starting directory, or on the search path."""
    for folder in (*filter(None, command.hints.get("path", "").split(os.pathsep)), directory):
        path = os.path.join(folder, command.name)
        if os.path.exists(path):
            return path
    from shutil import which

    return which(command.name)
