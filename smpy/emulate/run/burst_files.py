"""`--compute record:FILE` and `replay:FILE`: a run writes its bursts of computing, or reads those of another run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpy.emulate.reports.ranks_in_text import place_of
from smpy.engine.thread_ranks import OURS
from smpy.errors import Interrupted, SmpyError, UsageError
from smpy.records.files import check_writable
from smpy.records.remark import Remark

if TYPE_CHECKING:
    from smpy.compute.clock.bursts import BurstRecording, BurstReplay
    from smpy.emulate.modules.codes import CodeSupply
    from smpy.emulate.run.program import Program
    from smpy.engine.engine import Engine
    from smpy.options import RunConfig
    from smpy.records.bursts_file import BurstsWriter, RecordedBursts, RecordedRun

_EXIT_FAILURE: Final = 1
_INSTALLED: Final = frozenset(("site-packages", "dist-packages"))


class BurstFileMode:
    """Recording or replay of a run's bursts, or neither.

    Attributes
    ----------
    sha256 : str or None
        Hash of the file that is replayed.
    """

    def __init__(self) -> None:
        self.sha256: str | None = None
        self._writer: BurstsWriter | None = None
        self._recording: BurstRecording | None = None
        self._replay: BurstReplay | None = None
        self._home = ""

    @classmethod
    def of(cls, config: RunConfig, engine: Engine, program: Program, supply: CodeSupply) -> BurstFileMode:
        """Start the recording or replay that the settings ask for, and register it with the engine.

        Raises
        ------
        UsageError
            If the file cannot be written, or read, or is of another program or number of ranks.
        """
        frozen = cls()
        if config.record is None and config.replay is None:
            return frozen
        from smpy.compute.clock.bursts import BurstRecording, BurstReplay  # most runs need not import it
        from smpy.records.bursts_file import BurstsWriter, RecordedRun, read_bursts

        home = frozen._home = os.path.realpath(program.home)
        place = partial(place_of, home=home)
        name = config.program if config.is_module else os.path.basename(os.path.abspath(config.program))
        run = RecordedRun(name, config.args, config.n_ranks)
        if config.record is not None:
            path = config.record.absolute()  # wherever the program changes its directory to
            check_writable(path)
            frozen._writer = BurstsWriter(path, run)
            engine.bursts = frozen._recording = BurstRecording(engine, frozen._writer, place)
            supply.when_new = partial(_add_source, frozen._writer, home)
            for file in supply.files:
                supply.when_new(file)
        elif config.replay is not None:
            recorded = read_bursts(config.replay)
            _check(recorded, run, home)
            frozen.sha256 = recorded.sha256
            engine.bursts = frozen._replay = BurstReplay(engine, recorded, place)
        return frozen

    def note_shared_sources(self) -> None:
        """Note the sources of modules that all ranks share, while they are still known."""
        if self._writer is not None:
            for file in _shared_files(self._home):
                _add_source(self._writer, self._home, file)

    def end(self, cut_short: str) -> None:
        """Complete the recording; return why it is incomplete, if it is."""
        if self._writer is None or self._recording is None:
            return
        self._recording.finish()
        writer, self._writer = self._writer, None
        writer.close(cut_short)

    def end_of(self, exit_code: int, error: SmpyError | None) -> tuple[int, SmpyError | None]:
        """Complete the recording; return the run's exit code and error, or the error of an incomplete recording."""
        cut_short = ""
        if error is not None:
            cut_short = "its run was interrupted" if isinstance(error, Interrupted) else "its run failed"
        try:
            self.end(cut_short)
        except UsageError as lost:
            if error is None:
                return exit_code or _EXIT_FAILURE, SmpyError(str(lost))
            return exit_code, type(error)(f"{error}\n{lost}")
        return exit_code, error

    def remarks(self) -> Iterable[Remark]:
        """Remark on recorded bursts that the replay did not use, or used again."""
        replay = self._replay
        if replay is None:
            return
        n_unused, n_again = replay.n_unused, replay.n_again
        lines = [f"{n_unused:,} that were recorded were not asked for"] if n_unused else []
        if n_again:
            lines.append(f"{n_again:,} more than were recorded between polls in vain: recorded ones were taken again")
        if lines:
            yield Remark("bursts", tuple(lines), {"n_unused": n_unused, "n_again": n_again})


def _add_source(writer: BurstsWriter, home: str, file: str) -> None:
    """Note the content of a file of the program when its code is read."""
    if os.path.isabs(file):
        writer.add_source(place_of(file, 0, home).rpartition(":")[0], _on_disk(Path(file)))


def _shared_files(home: str) -> Iterable[str]:
    """Files of modules beside the program that all ranks share."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")
        if not isinstance(file, str) or not file.startswith(home + os.sep):
            continue
        if not file.startswith(OURS) and not _INSTALLED.intersection(Path(file).parts):
            yield file


def _on_disk(file: Path) -> Path:
    """The file itself, or the archive that contains it."""
    return next((path for path in (file, *file.parents) if path.exists()), file)


def _check(recorded: RecordedBursts, run: RecordedRun, home: str) -> None:
    """Refuse bursts of another program."""
    from smpy.records.bursts_file import hash_of

    was, path = recorded.run, recorded.path
    if was.program != run.program:
        raise UsageError(f"{path} has bursts of {was.program}, and this is {run.program}: record it")
    if was.n_ranks != run.n_ranks:
        raise UsageError(f"{path} has bursts of {was.n_ranks} ranks, and this run has {run.n_ranks}: record it anew")
    if was.args != run.args:
        recorded_args, now = (" ".join(args) or "none" for args in (was.args, run.args))
        raise UsageError(
            f"{path} has bursts of a run with the arguments {recorded_args}, and these are {now}: record it anew"
        )
    for place, sha256 in recorded.sources.items():
        file = _on_disk(Path(home, place))
        if not file.is_file() or hash_of(file) != sha256:
            raise UsageError(f"{path} has bursts of another {run.program}: {place} is not as it was; record it anew")
