"""Messages between ranks, as the running rank starts, completes and looks for them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from smpy.engine.kernel import ffi, lib
from smpy.engine.loop import Loop, check
from smpy.engine.messages import BUFFERED, CANCELLED, INNER, NO_MESSAGE, Envelope, Load


def _envelope_of(request: Any) -> Envelope:
    if request.is_cancelled:
        return CANCELLED
    if request.is_send:
        return NO_MESSAGE
    return Envelope(request.matched_source, request.matched_tag, request.matched_bytes, request.bytes)


class PointToPoint(Loop):
    """The calls that send and receive. Requests are numbered from 1; 0 is one that is complete."""

    sends_are_synchronous = False

    def make_sends_synchronous(self) -> None:
        """Have every standard send wait for its receive, as a large one does."""
        self.sends_are_synchronous = True
        lib.sim_make_sends_synchronous(self._sim)

    def _post(self, number: int, load: Load) -> bool:
        """Attach the payload; whether the request is a detached send, complete for its rank."""
        check(number)
        is_detached = bool(lib.sim_request(self._sim, number).is_detached)
        if load.take is not None:
            payload = self._payload_of(number)
            payload.kind, payload.bytes, payload.n_blocks = lib.PAYLOAD_PYTHON, load.nbytes, load.n_blocks
        elif load.address and load.nbytes:
            payload, data = self._payload_of(number), ffi.cast("char *", load.address)
            if not is_detached:
                payload.data, payload.bytes, payload.kind = data, load.nbytes, lib.PAYLOAD_BORROWED
            elif lib.payload_fill(self._sim, payload, data, load.nbytes, ffi.NULL) < 0:
                raise MemoryError(f"no memory for a message of {load.nbytes} bytes")
            if load.private is not None and lib.payload_restrict(payload, len(load.private), list(load.private)) < 0:
                raise MemoryError(f"no memory for the {len(load.private)} private zones of a message")
        else:
            self.has_folded |= load.nbytes > 0 and not load.address and load.keep is not None
        if not is_detached and (load.take is not None or load.keep is not None):
            token = self._payload_of(number).token = self._token()
            self._deliveries[token] = load
        self._keep_pace()
        return is_detached

    def _name_memory(self, load: Load) -> None:
        """Say of the message that is posted next whether it lies on the rank's device."""
        if load.is_on_device:
            check(lib.sim_name_device(self._sim, self.timeline))

    def _payload_of(self, number: int) -> Any:
        payload = lib.sim_payload(self._sim, number)
        if payload == ffi.NULL:
            raise MemoryError("no memory for another message")
        return payload

    def n_peers(self, comm: int) -> int:
        """Number of ranks that messages may go to; of an intercommunicator, those of the other side."""
        return int(lib.sim_comm_peers(self._sim, comm))

    def send(self, comm: int, dest: int, tag: int, load: Load, mode: int = INNER, call: str = "Send") -> None:
        """Blocking send; the buffer may be reused on return."""
        self._name_memory(load)
        number = lib.sim_append_send(self._sim, self.timeline, comm, dest, tag, load.nbytes, mode, 1)
        if not self._post(number, load):
            self.wait(number, call)
        elif mode == BUFFERED:
            self.release(number)

    def isend(self, comm: int, dest: int, tag: int, load: Load, mode: int = INNER, *, is_blocking: bool = False) -> int:
        """Start a send: its request number, 0 when it is complete already.

        The number of a buffered send is never 0; that request completes when the message has been delivered. With
        `is_blocking` the start takes the time of a blocking send's.
        """
        self._name_memory(load)
        number = int(lib.sim_append_send(self._sim, self.timeline, comm, dest, tag, load.nbytes, mode, is_blocking))
        return 0 if self._post(number, load) and mode != BUFFERED else number

    def irecv(self, comm: int, source: int, tag: int, load: Load) -> int:
        """Start a receive: its request number."""
        self._name_memory(load)
        number = lib.sim_append_recv(self._sim, self.timeline, comm, source, tag, load.nbytes)
        self._post(number, load)
        return int(number)

    def matches_itself(self, comm: int, sendtag: int, recvtag: int) -> bool:
        """Whether a send to oneself and a receive from oneself match, both posted now; the rank has caught up."""
        return bool(lib.sim_matches_itself(self._sim, self.timeline, comm, sendtag, recvtag))

    def recv(self, comm: int, source: int, tag: int, load: Load, call: str = "Recv") -> Envelope:
        """Receive a message."""
        return self.wait(self.irecv(comm, source, tag, load), call)

    def _collect(self, number: int) -> Envelope:
        if number <= 0:
            return NO_MESSAGE
        request = lib.sim_request(self._sim, number)
        envelope, work_s = _envelope_of(request), lib.sim_work_of_request_s(self._sim, number)
        lib.sim_release(self._sim, number)
        if work_s > 0:
            lib.sim_append_overhead(self._sim, self.timeline, work_s)
        return envelope

    def wait(self, request: int, call: str = "Wait") -> Envelope:
        """Wait for one request and release it."""
        if request <= 0:
            return NO_MESSAGE
        check(lib.sim_append_wait(self._sim, self.timeline, request))
        self.block(call)
        return self._collect(request)

    def wait_all(self, requests: Sequence[int], call: str = "Waitall") -> list[Envelope]:
        """Wait for all of them and release them; numbers of 0 are complete."""
        numbers = array("i", requests)
        if any(number > 0 for number in numbers):
            check(lib.sim_append_wait_all(self._sim, self.timeline, len(numbers), ffi.from_buffer("int[]", numbers)))
            self.block(call)
        return [self._collect(number) for number in numbers]

    def wait_any(self, requests: Sequence[int], call: str = "Waitany") -> tuple[int, Envelope]:
        """Wait for one of them and release it: its index and message. 0 is complete, negative ones are skipped."""
        numbers = array("i", requests)
        check(lib.sim_append_wait_any(self._sim, self.timeline, len(numbers), ffi.from_buffer("int[]", numbers)))
        self.block(call)
        index = int(lib.sim_answer(self._sim, self.timeline))
        return index, self._collect(numbers[index])

    def test(self, request: int, call: str = "Test") -> Envelope | None:
        """Poll one request; it is released when complete. A poll takes simulated time."""
        check(lib.sim_append_test(self._sim, self.timeline, request))
        self.block(call)
        return self._collect(request) if lib.sim_answer(self._sim, self.timeline) else None

    def test_any(self, requests: Sequence[int], call: str = "Testany") -> tuple[int, Envelope] | None:
        """Poll several requests: index and message of the first that is complete, or None."""
        numbers = array("i", requests)
        check(lib.sim_append_test_any(self._sim, self.timeline, len(numbers), ffi.from_buffer("int[]", numbers)))
        self.block(call)
        index = int(lib.sim_answer(self._sim, self.timeline))
        return None if index < 0 else (index, self._collect(numbers[index]))

    def get_status(self, request: int, call: str = "Get_status") -> Envelope | None:
        """Look whether a request is complete, without releasing it; it takes the time that a look of `iprobe` takes."""
        if request <= 0:
            return NO_MESSAGE
        check(lib.sim_append_get_status(self._sim, self.timeline, request))
        self.block(call)
        return _envelope_of(lib.sim_request(self._sim, request)) if lib.sim_answer(self._sim, self.timeline) else None

    def cancel(self, request: int) -> None:
        """Cancel a request: unless it has matched by then, it ends, and its envelope says that it was cancelled."""
        check(lib.sim_append_cancel(self._sim, self.timeline, request))
        self._keep_pace()

    def is_done(self, request: int) -> bool:
        """Whether a request is complete at this date; a program cannot ask so freely."""
        return request <= 0 or bool(lib.sim_request(self._sim, request).is_done)

    def release(self, request: int, keep: object = None) -> None:
        """Let an operation go on by itself: nobody will wait for it. `keep` is kept alive until it has ended."""
        if request <= 0:
            return
        self.must_be_here()
        if keep is not None and not self.is_done(request):
            payload = self._payload_of(request)
            load = self._deliveries.get(payload.token) or Load(0)
            payload.token = payload.token or self._token()
            self._deliveries[payload.token] = replace(load, keep=(load.keep, keep))
        lib.sim_release(self._sim, request)

    def _probed(self) -> Envelope:
        message = lib.sim_probed(self._sim, self.timeline)
        return Envelope(message.source, message.tag, message.bytes, message.bytes)

    def iprobe(self, comm: int, source: int, tag: int) -> Envelope | None:
        """Look for a message that could be received; a look takes simulated time."""
        check(lib.sim_append_iprobe(self._sim, self.timeline, comm, source, tag))
        self.block("Iprobe")
        return self._probed() if lib.sim_answer(self._sim, self.timeline) else None

    def probe(self, comm: int, source: int, tag: int) -> Envelope:
        """Wait until a message could be received."""
        check(lib.sim_append_probe(self._sim, self.timeline, comm, source, tag))
        self.block("Probe")
        return self._probed()

    def improbe(self, comm: int, source: int, tag: int) -> tuple[int, Envelope] | None:
        """Look for a message, and hold it: its number, by which only `imrecv` receives it, and its envelope."""
        check(lib.sim_append_improbe(self._sim, self.timeline, comm, source, tag))
        self.block("Improbe")
        held = int(lib.sim_answer(self._sim, self.timeline))
        return (held, self._probed()) if held else None

    def mprobe(self, comm: int, source: int, tag: int) -> tuple[int, Envelope]:
        """Wait for a message, and hold it."""
        check(lib.sim_append_mprobe(self._sim, self.timeline, comm, source, tag))
        self.block("Mprobe")
        return int(lib.sim_answer(self._sim, self.timeline)), self._probed()

    def imrecv(self, held: int, load: Load) -> int:
        """Start to receive the message that a probe holds: the request number."""
        self._name_memory(load)
        number = lib.sim_append_mrecv(self._sim, self.timeline, held, load.nbytes)
        self._post(number, load)
        return int(number)
