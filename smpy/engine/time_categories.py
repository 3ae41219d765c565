"""The ranks' simulated time, by category."""

from __future__ import annotations

from typing import NamedTuple


class Spent(NamedTuple):
    """Seconds of the ranks' lives, from their start to their end or to the present; together they are all of them.

    A blocked rank *waits* until the message that ends the wait starts to travel, which it does when both its sides have
    been posted; inside a collective at most until all ranks of the communicator have entered. From then on it is in a
    *transfer*. Between groups nobody counts who has entered. (A wait that the end of the run cut short is all waiting.)
    Polls wait and transfer in the same way when one of them succeeds.

    Parameters
    ----------
    computing, sleeping : float
        Time outside MPI.
    overhead : float
        Time that the model says sending, receiving and looking at the clock take.
    polling : float
        Time in polls that waited for nothing: their message had come before, or no poll of the row succeeded.
    probing : float
        Time in blocking probes that have looked once and found nothing, to the end of the run.
    io : float
        Time blocked or polling, until an access to a file was over.
    device : float
        Time blocked, until an operation of the rank's device was over.
    transfer : float
        Time blocked or polling, while messages travelled.
    late_sender, late_receiver, late_members : float
        Time blocked or polling, for a late side of a message, or for late ranks of a collective.
    """

    computing: float
    sleeping: float
    overhead: float
    polling: float
    probing: float
    io: float
    device: float
    transfer: float
    late_sender: float
    late_receiver: float
    late_members: float

    @property
    def communicating(self) -> float:
        """Time inside MPI, but for `waiting_for_others`."""
        return self.overhead + self.polling + self.transfer

    @property
    def waiting(self) -> float:
        """Time blocked or polling for a late rank."""
        return self.late_sender + self.late_receiver + self.late_members

    @property
    def waiting_for_others(self) -> float:
        """Time in calls whose other side was not there."""
        return self.probing + self.waiting
