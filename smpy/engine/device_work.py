"""Kernels and copies that the running rank starts on its device, and the memory that it takes there."""

from __future__ import annotations

from functools import partial
from operator import index
from typing import Final

from smpy.engine.added_timelines import AddedTimelines
from smpy.engine.kernel import lib
from smpy.engine.loop import check
from smpy.engine.machine_devices import without_device, without_speed
from smpy.engine.point_to_point import PointToPoint
from smpy.errors import MissingHardwareError, UsageError
from smpy.platforms.models.devices import BITS, Device
from smpy.units import format_bytes

N_STREAMS: Final = int(lib.DEVICE_STREAMS)
"""Number of streams of a rank."""


class DeviceWork(PointToPoint, AddedTimelines):
    """Operations of ranks on their devices, each in a stream; each rank has one of the devices of its host."""

    def device(self) -> Device:
        """The running rank's device.

        Raises
        ------
        MissingHardwareError
            If its host has none.
        """
        return self.devices[self._device_number()]

    def _device_number(self) -> int:
        number = int(lib.sim_device_of(self._sim, self.rank))
        if number < 0:
            raise MissingHardwareError(without_device(self.platform, self.rank, self._host_of_rank[self.rank]))
        return number

    def start_kernel(self, flop: float, moved_bytes: float, bits: int, stream: int = 0) -> float:
        """Start a kernel on the running rank's device; return the time that it takes there alone.

        Parameters
        ----------
        flop, moved_bytes : float
            Its operations, and the bytes of the device's memory that it reads and writes.
        bits : int
            Size of its floating-point numbers, one of `BITS`.
        stream : int
            Stream of the rank, in which operations follow one another.

        Raises
        ------
        MissingHardwareError
            If the host has no device, or that does not compute with such numbers.
        """
        device, stream = self.device(), checked_stream(stream)
        if flop and not device.speed_flop_per_s(bits):
            raise MissingHardwareError(
                without_speed(self.platform, self.rank, self._host_of_rank[self.rank], device, bits)
            )
        number = lib.sim_append_device_kernel(self._sim, self.timeline, stream, BITS.index(bits), flop, moved_bytes)
        self._started(int(number), stream)
        return device.alone_s(flop, moved_bytes, bits)

    def start_copy(self, nbytes: int, stream: int = 0, *, to_device: bool) -> None:
        """Start to copy between the memory of the running rank's device and that of its host.

        Raises
        ------
        MissingHardwareError
            If the host has no device.
        """
        self._device_number()
        stream = checked_stream(stream)
        self._started(int(lib.sim_append_device_copy(self._sim, self.timeline, stream, to_device, nbytes)), stream)

    def _started(self, number: int, stream: int) -> None:
        """Keep the last operation of a stream, and release the one before it, which needs no wait."""
        check(number)
        key = self.rank, stream
        if before := self.last_of_stream.get(key, 0):
            lib.sim_release(self._sim, before)
        self.last_of_stream[key] = number
        self._keep_pace()

    def has_device_work(self) -> bool:
        """Whether the running rank has started operations and has not waited for them."""
        rank = self.rank
        return any((rank, stream) in self.last_of_stream for stream in range(N_STREAMS))

    def synchronize(self, stream: int | None = None) -> None:
        """Wait until the running rank's operations in a stream, or in all its streams, are over."""
        rank = self.rank
        streams = range(N_STREAMS) if stream is None else (checked_stream(stream),)
        if self.has_threads:
            numbers = [self._after(rank, each) for each in streams if (rank, each) in self.last_of_stream]
        else:
            numbers = [self.last_of_stream.pop((rank, each), 0) for each in streams]
        self.wait_all(numbers, "synchronize")

    def _after(self, rank: int, stream: int) -> int:
        """Request of an empty kernel that follows a stream's operations, for which several threads may wait."""
        number = int(lib.sim_append_device_kernel(self._sim, self.timeline, stream, 0, 0.0, 0.0))
        check(number)
        if last := self.last_of_stream[rank, stream]:
            lib.sim_release(self._sim, last)
            self.last_of_stream[rank, stream] = 0
        return number

    def device_busy_s(self) -> list[float]:
        """Computing time of each device that a rank has, by its number in the kernel."""
        if not self.devices:
            return []
        numbers = {int(lib.sim_device_of(self._sim, rank)) for rank in range(self.n_ranks)} - {-1}
        return [float(lib.sim_device_busy_s(self._sim, number)) for number in sorted(numbers)]

    def take_device_memory(self, nbytes: int) -> int:
        """Reserve memory of the running rank's device, at its date; return the number for `free_device_memory`.

        Raises
        ------
        MissingHardwareError
            If the host has no device.
        UsageError
            If that has less memory left.
        """
        number = self._device_number()
        limit_bytes = self.devices[number].memory_bytes
        if not limit_bytes:
            return number
        self.catch_up("folded")
        used_bytes = self.used_device_bytes.get(number, 0) + nbytes
        if used_bytes > limit_bytes:
            left_bytes = limit_bytes - (used_bytes - nbytes)
            raise UsageError(
                f"{format_bytes(nbytes)} on the device of rank {self.rank} are more than the "
                f"{format_bytes(left_bytes)} that are left of its {format_bytes(limit_bytes)}: delete arrays, or use "
                "more devices"
            )
        self.used_device_bytes[number] = used_bytes
        return number

    def free_device_memory(self, number: int, nbytes: int) -> None:
        """Give reserved memory of a device back, at the running rank's date; lets no other rank run."""
        if not self.devices[number].memory_bytes:
            return
        if self._sim is not None and self.is_here() and not self.is_in_hub() and self.running_timeline >= 0:
            self.append_note(partial(self._free_memory, number, nbytes))
        else:
            self._free_memory(number, nbytes)

    def _free_memory(self, number: int, nbytes: int) -> None:
        self.used_device_bytes[number] -= nbytes


def checked_stream(stream: int) -> int:
    """The number of a stream.

    Raises
    ------
    ValueError
        If there is no such stream.
    """
    number = index(stream)
    if not 0 <= number < N_STREAMS:
        raise ValueError(f"stream {number}: a rank has streams 0 to {N_STREAMS - 1}")
    return number
