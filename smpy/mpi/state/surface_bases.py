"""The bases of handles on communicators, requests and windows: the compiled surface's, or plain ones.

The extension has the calls that programs make most often. Each tries the common case, one contiguous buffer of a basic
type between ranks of the communicator, and leaves every other, before it has posted anything, to Python's method of
the same signature, under its name with an underscore. Python has all of them, in the classes of
`compiled_when_available`; without the extension, or with ``SMPY_SURFACE=python``, programs call them.

Fields that both the extension and Python read and set:

CommBase
    ``_kernel_comm`` (int): the kernel's number of the communicator; `NOWHERE` when null or freed; `MYSELF` for
    COMM_SELF, which is 1 + the running rank. ``_refer_to(number)`` alone sets it.

RequestBase
    ``_kernel_request`` (int): the kernel's number; 0 when the kernel has nothing left to do for it; -1 when null, and
    of a persistent request that is not active. ``_buffer``: kept alive until it completes. ``_envelope``: the
    `Envelope` of a request known to be complete. ``_on_completion``: called with the envelope on completion, for the
    object that the lower-case calls return; or a `CompoundOperation`. ``_refer_to(number)``, ``_share(other)`` and
    ``_let_go()``, which makes it null, alone change the first two. The extension completes requests whose last two
    are None.

WindowBase
    It has no field. Its calls read slots of the handle's part, ``_membership`` (`smpy.mpi.rma`): ``is_over``, ``rank``,
    ``communicator.number``, ``window.pieces``, ``window.puts``, ``epochs.is_fenced``, ``epochs.locks``,
    ``epochs.started``; of a piece ``address``, ``nbytes``, ``disp_unit``. They change ``epochs.accessed``,
    ``epochs.locks``, ``epochs.is_fenced`` and the dicts in ``window.puts``, set ``epochs._date_s`` and
    ``epochs._n_at_date`` after a wait at a new date, and call ``_count_wait`` of the part after others,
    ``window.write_puts`` after a lock, ``window.piece`` and ``lent_memory`` of a piece before its first access. In a
    world with checks they read and set fields of ``checked`` of the part, too
    (`smpy.mpi.checks.window_state.Origin`).

Status
    The slots ``_source, _tag, _error, _nbytes, _cancelled``.

Datatype
    ``_size``: bytes of a committed datatype without gaps, 0 of any other. ``_strided``: describes a committed datatype
    with regular strides (`smpy.mpi.data.strided`), None of any other.

A receive that completes with more bytes than it has room for calls ``self._truncated(call, message)`` of the handle,
which raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from smpy.engine.surface import surface

if TYPE_CHECKING or surface is None:
    from smpy.mpi.state.python_bases import CommBase, RequestBase, WindowBase
else:
    CommBase, RequestBase, WindowBase = surface.CommBase, surface.RequestBase, surface.WindowBase

__all__ = ["MYSELF", "NOWHERE", "CommBase", "RequestBase", "WindowBase", "compiled_when_available", "use_request_class"]

NOWHERE, MYSELF = -1, -2

C = TypeVar("C", bound=type)


def compiled_when_available(*names: str) -> Callable[[C], C]:
    """Decorate a class: where there is an extension, programs call its methods of these names.

    Python's methods, which take the calls that the extension leaves, then have an underscore before their names.
    """

    def hand_over(owner: C) -> C:
        for name in names if surface is not None else ():
            method = vars(owner)[name]
            delattr(owner, name)
            if not isinstance(method, property):
                setattr(owner, f"_{name}", method)
        return owner

    return hand_over


def use_request_class(request_class: type[RequestBase]) -> None:
    """Tell the extension which class Isend and Irecv make."""
    if surface is not None:
        surface.use_request_class(request_class)
