"""Ports, and names under which they are published: known to all ranks of a run, from their date on.

These calls take no time, but a look for a name that is not published takes that of a probe: ranks look in loops.
"""

from __future__ import annotations

from smpy.engine.running import current, mpi_call, per_world
from smpy.mpi.data.message_specifications import LARGEST_TAG
from smpy.mpi.process.meetings import come_to_date
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import INFO_NULL, Info

__all__ = ["Close_port", "Lookup_name", "Open_port", "Publish_name", "Unpublish_name", "check_port"]


class _Names:
    """Ports and names of a world.

    Attributes
    ----------
    n_ports : int
        Number of ports that have been opened.
    open : set of str
        Names of open ports.
    published : dict of str to str
        Ports by the names of services.
    """

    def __init__(self) -> None:
        self.n_ports = 0
        self.open: set[str] = set()
        self.published: dict[str, str] = {}


@mpi_call
def Open_port(info: Info = INFO_NULL) -> str:
    """Open a port, at which other groups of ranks can connect to one that accepts them.

    Parameters
    ----------
    info : Info
        Hints; they change nothing.

    Returns
    -------
    str
        Name of the port.
    """
    names, engine = per_world(_Names), current()
    names.n_ports += 1
    port = f"smpy:{engine.host_name(engine.rank)}:{names.n_ports}"
    names.open.add(port)
    return port


@mpi_call
def Close_port(port_name: str) -> None:
    """Close a port.

    Parameters
    ----------
    port_name : str
        Name that `Open_port` gave.
    """
    come_to_date("Close_port")
    check_port(port_name, "Close_port")
    per_world(_Names).open.remove(port_name)


@mpi_call
def Publish_name(service_name: str, port_name: str, info: Info = INFO_NULL) -> None:
    """Publish a port under the name of a service.

    Parameters
    ----------
    service_name : str
        A name that is not published.
    port_name : str
        An open port.
    info : Info
        Hints; they change nothing.
    """
    come_to_date("Publish_name")
    names = per_world(_Names)
    if service_name in names.published:
        fail("ERR_SERVICE", f"Publish_name({service_name!r}): the name is published already; Unpublish_name it first")
    names.published[service_name] = port_name


@mpi_call
def Unpublish_name(service_name: str, port_name: str, info: Info = INFO_NULL) -> None:
    """Withdraw the name of a service.

    Parameters
    ----------
    service_name, port_name : str
        As they were published.
    info : Info
        Hints; they change nothing.
    """
    come_to_date("Unpublish_name")
    names = per_world(_Names)
    if names.published.get(service_name) != port_name:
        fail("ERR_SERVICE", f"Unpublish_name({service_name!r}, {port_name!r}): the name is not published for this port")
    del names.published[service_name]


@mpi_call
def Lookup_name(service_name: str, info: Info = INFO_NULL) -> str:
    """The port of a service.

    Parameters
    ----------
    service_name : str
        A published name.
    info : Info
        Hints; they change nothing.
    """
    come_to_date("Lookup_name")
    port = per_world(_Names).published.get(service_name)
    if port is None:
        current().iprobe(current().comm_self(), 0, LARGEST_TAG)
        fail("ERR_NAME", f"Lookup_name({service_name!r}): no rank has published the name, at this date")
    return port


def check_port(port_name: str, call: str) -> None:
    """Raise ``ERR_PORT`` unless a port of that name is open."""
    if port_name not in per_world(_Names).open:
        fail("ERR_PORT", f"{call}({port_name!r}): no such port is open; Open_port makes one")
