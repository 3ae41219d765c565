"""Numbers of the MPI standard that programs compare with; the values are ours, as each implementation's are its own."""

from __future__ import annotations

from typing import Final

UNDEFINED: Final = -32766
ANY_SOURCE: Final = -1
ANY_TAG: Final = -1
PROC_NULL: Final = -2
LARGEST_TAG: Final = 2**31 - 1  # the kernel's are 32-bit
ROOT: Final = -4
KEYVAL_INVALID: Final = -1

TAG_UB: Final = 0
IO: Final = 1
WTIME_IS_GLOBAL: Final = 2
UNIVERSE_SIZE: Final = 3
APPNUM: Final = 4
LASTUSEDCODE: Final = 5

IDENT: Final = 0
CONGRUENT: Final = 1
SIMILAR: Final = 2
UNEQUAL: Final = 3

CART: Final = 1
GRAPH: Final = 2
DIST_GRAPH: Final = 3

THREAD_SINGLE: Final = 0
THREAD_FUNNELED: Final = 1
THREAD_SERIALIZED: Final = 2
THREAD_MULTIPLE: Final = 3

COMM_TYPE_SHARED: Final = 1
COMM_TYPE_HW_GUIDED: Final = 2
COMM_TYPE_HW_UNGUIDED: Final = 3
COMM_TYPE_RESOURCE_GUIDED: Final = 4

ORDER_C: Final = 0
ORDER_FORTRAN: Final = 1
ORDER_F: Final = ORDER_FORTRAN

COMBINER_NAMED: Final = 1

BSEND_OVERHEAD: Final = 128

VERSION: Final = 4
SUBVERSION: Final = 0

MAX_PROCESSOR_NAME: Final = 256
MAX_ERROR_STRING: Final = 1024
MAX_PORT_NAME: Final = 1024
MAX_INFO_KEY: Final = 255
MAX_INFO_VAL: Final = 1024
MAX_OBJECT_NAME: Final = 128
MAX_DATAREP_STRING: Final = 128
MAX_LIBRARY_VERSION_STRING: Final = 256
MAX_PSET_NAME_LEN: Final = 1024
MAX_STRINGTAG_LEN: Final = 256
