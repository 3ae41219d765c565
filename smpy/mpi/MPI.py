"""The module that programs import as `mpi4py.MPI`: its names, collected from the files that define them."""

from smpy.mpi.comms.attached_buffers import Attach_buffer, Detach_buffer, Flush_buffer, Iflush_buffer
from smpy.mpi.comms.comm import COMM_NULL, COMM_SELF, COMM_WORLD, Comm, Intercomm, Intracomm
from smpy.mpi.comms.groups import GROUP_EMPTY, GROUP_NULL, Group
from smpy.mpi.comms.private_contexts import _comm_lock as _comm_lock
from smpy.mpi.comms.private_contexts import _comm_lock_table as _comm_lock_table
from smpy.mpi.comms.private_contexts import _commctx_inter as _commctx_inter
from smpy.mpi.comms.private_contexts import _commctx_intra as _commctx_intra
from smpy.mpi.comms.sessions import SESSION_NULL, Session
from smpy.mpi.conformance.docstrings import sign_docstrings
from smpy.mpi.conformance.introspection import _addressof as _addressof
from smpy.mpi.conformance.introspection import _handleof as _handleof
from smpy.mpi.conformance.introspection import _sizeof as _sizeof
from smpy.mpi.data import datatypes, operations
from smpy.mpi.data.datatypes import Datatype
from smpy.mpi.data.datatypes import _typealign as _typealign
from smpy.mpi.data.datatypes import _typecode as _typecode
from smpy.mpi.data.datatypes import _typedict as _typedict
from smpy.mpi.data.datatypes import _typedict_c as _typedict_c
from smpy.mpi.data.datatypes import _typedict_f as _typedict_f
from smpy.mpi.data.memory_type import Aint_add, Aint_diff, Alloc_mem, Free_mem, Get_address, buffer
from smpy.mpi.data.operations import Op
from smpy.mpi.data.pickling import Pickle, pickle
from smpy.mpi.data.special_buffers import (
    BOTTOM,
    BUFFER_AUTOMATIC,
    IN_PLACE,
    BottomType,
    BufferAutomaticType,
    InPlaceType,
)
from smpy.mpi.io.file import FILE_NULL, File
from smpy.mpi.io.representations import Register_datarep
from smpy.mpi.process.names import Close_port, Lookup_name, Open_port, Publish_name, Unpublish_name
from smpy.mpi.requests.grequests import Grequest
from smpy.mpi.requests.matched import MESSAGE_NO_PROC, MESSAGE_NULL, Message
from smpy.mpi.requests.persistent import Prequest
from smpy.mpi.requests.request import REQUEST_NULL, Request
from smpy.mpi.requests.status import Status
from smpy.mpi.rma.window import WIN_NULL, Win
from smpy.mpi.state import constants, exceptions
from smpy.mpi.state.environment import (
    Finalize,
    Get_abi_fortran_info,
    Get_abi_info,
    Get_abi_version,
    Get_hw_resource_info,
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
from smpy.mpi.state.error_codes import (
    Add_error_class,
    Add_error_code,
    Add_error_string,
    Remove_error_class,
    Remove_error_code,
    Remove_error_string,
)
from smpy.mpi.state.error_handlers import ERRHANDLER_NULL, ERRORS_ABORT, ERRORS_ARE_FATAL, ERRORS_RETURN, Errhandler
from smpy.mpi.state.exceptions import Exception, Get_error_class, Get_error_string  # mpi4py's name for it
from smpy.mpi.state.info import INFO_ENV, INFO_NULL, Info
from smpy.mpi.topology.balanced_dims import Compute_dims
from smpy.mpi.topology.cartcomm import Cartcomm
from smpy.mpi.topology.graphcomms import Distgraphcomm, Graphcomm
from smpy.mpi.topology.topologies import Topocomm

__all__ = [
    "BOTTOM",
    "BUFFER_AUTOMATIC",
    "COMM_NULL",
    "COMM_SELF",
    "COMM_WORLD",
    "ERRHANDLER_NULL",
    "ERRORS_ABORT",
    "ERRORS_ARE_FATAL",
    "ERRORS_RETURN",
    "FILE_NULL",
    "GROUP_EMPTY",
    "GROUP_NULL",
    "INFO_ENV",
    "INFO_NULL",
    "IN_PLACE",
    "MESSAGE_NO_PROC",
    "MESSAGE_NULL",
    "REQUEST_NULL",
    "SESSION_NULL",
    "WIN_NULL",
    "Add_error_class",
    "Add_error_code",
    "Add_error_string",
    "Aint_add",
    "Aint_diff",
    "Alloc_mem",
    "Attach_buffer",
    "BottomType",
    "BufferAutomaticType",
    "Cartcomm",
    "Close_port",
    "Comm",
    "Compute_dims",
    "Datatype",
    "Detach_buffer",
    "Distgraphcomm",
    "Errhandler",
    "Exception",
    "File",
    "Finalize",
    "Flush_buffer",
    "Free_mem",
    "Get_abi_fortran_info",
    "Get_abi_info",
    "Get_abi_version",
    "Get_address",
    "Get_error_class",
    "Get_error_string",
    "Get_hw_resource_info",
    "Get_library_version",
    "Get_processor_name",
    "Get_version",
    "Graphcomm",
    "Grequest",
    "Group",
    "Iflush_buffer",
    "InPlaceType",
    "Info",
    "Init",
    "Init_thread",
    "Intercomm",
    "Intracomm",
    "Is_finalized",
    "Is_initialized",
    "Is_thread_main",
    "Lookup_name",
    "Message",
    "Op",
    "Open_port",
    "Pcontrol",
    "Pickle",
    "Prequest",
    "Publish_name",
    "Query_thread",
    "Register_datarep",
    "Remove_error_class",
    "Remove_error_code",
    "Remove_error_string",
    "Request",
    "Session",
    "Status",
    "Topocomm",
    "Unpublish_name",
    "Win",
    "Wtick",
    "Wtime",
    "buffer",
    "get_vendor",
    "memory",
    "pickle",
]

memory = buffer

# Names that tables define. Nothing but mpi4py's names stays in the module: programs list them.
for _table in (
    {name: value for name, value in vars(constants).items() if name.isupper()},
    {name: number for name, (number, _) in exceptions.ERROR_CLASSES.items()},
    datatypes.PREDEFINED,
    operations.PREDEFINED,
):
    globals().update(_table)
    __all__ += _table  # noqa: PLE0605  # tables' names

sign_docstrings(globals()[_name] for _name in __all__)

for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = "mpi4py.MPI"  # the name by which programs print them and pickle finds them

del constants, datatypes, exceptions, operations, sign_docstrings, _name, _table


def __getattr__(name: str) -> object:
    raise AttributeError(f"module 'mpi4py.MPI' has no attribute {name!r}: smpy has no MPI.{name} yet")
