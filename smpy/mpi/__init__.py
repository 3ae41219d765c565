"""What a program sees as `mpi4py.MPI`, on a simulated machine.

One module for all ranks: a handle holds a number and no rank, and asks which rank runs. A method reads its arguments,
makes one call of the engine and returns; families of calls are files of their own. Names and behaviour are mpi4py's
[1]_.

References
----------
.. [1] L. Dalcin, Y.-L. L. Fang, "mpi4py: Status Update After 12 Years of Development", Computing in Science &
   Engineering 23(4), 2021; https://mpi4py.readthedocs.io
"""

from __future__ import annotations

from typing import Any, Final

from smpy.mpi import constants, datatypes, exceptions, operations
from smpy.mpi.buffers import BOTTOM, IN_PLACE, BottomType, InPlaceType
from smpy.mpi.comm import COMM_NULL, COMM_SELF, COMM_WORLD, Comm, Intracomm
from smpy.mpi.datatypes import Datatype
from smpy.mpi.datatypes import _typealign as _typealign
from smpy.mpi.datatypes import _typecode as _typecode
from smpy.mpi.datatypes import _typedict as _typedict
from smpy.mpi.datatypes import _typedict_c as _typedict_c
from smpy.mpi.datatypes import _typedict_f as _typedict_f
from smpy.mpi.environment import (
    Aint_add,
    Aint_diff,
    Finalize,
    Get_address,
    Get_library_version,
    Get_processor_name,
    Get_version,
    Init,
    Init_thread,
    Is_finalized,
    Is_initialized,
    Is_thread_main,
    Pcontrol,
    Query_thread,
    Wtick,
    Wtime,
    get_vendor,
)
from smpy.mpi.exceptions import Exception, Get_error_class, Get_error_string  # mpi4py's name for it
from smpy.mpi.groups import GROUP_EMPTY, GROUP_NULL, Group
from smpy.mpi.operations import Op
from smpy.mpi.pickling import Pickle, pickle
from smpy.mpi.requests import REQUEST_NULL, Request
from smpy.mpi.status import Status

__all__ = [
    "BOTTOM",
    "COMM_NULL",
    "COMM_SELF",
    "COMM_WORLD",
    "GROUP_EMPTY",
    "GROUP_NULL",
    "IN_PLACE",
    "REQUEST_NULL",
    "Aint_add",
    "Aint_diff",
    "BottomType",
    "Comm",
    "Datatype",
    "Exception",
    "Finalize",
    "Get_address",
    "Get_error_class",
    "Get_error_string",
    "Get_library_version",
    "Get_processor_name",
    "Get_version",
    "Group",
    "InPlaceType",
    "Init",
    "Init_thread",
    "Intracomm",
    "Is_finalized",
    "Is_initialized",
    "Is_thread_main",
    "Op",
    "Pcontrol",
    "Pickle",
    "Query_thread",
    "Request",
    "Status",
    "Wtick",
    "Wtime",
    "get_vendor",
    "pickle",
]

_TABLES: Final[tuple[dict[str, Any], ...]] = (
    {name: value for name, value in vars(constants).items() if name.isupper()},
    {name: number for name, (number, _) in exceptions.ERROR_CLASSES.items()},
    datatypes.PREDEFINED,
    operations.PREDEFINED,
)
for _table in _TABLES:
    globals().update(_table)
    __all__ += _table  # noqa: PLE0605  # names that tables define

for _value in [globals()[_name] for _name in __all__]:
    if isinstance(_value, type):
        _value.__module__ = "mpi4py.MPI"  # the name by which programs print them and pickle finds them


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'mpi4py.MPI' has no attribute {name!r}: smpy does not simulate all of MPI yet")
