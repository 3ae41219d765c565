"""types FORM N: makes and frees N datatypes: contiguous, vector, subarray, indexed or struct."""

import sys

from mpi4py import MPI

OLD = MPI.DOUBLE
FORMS = {
    "contiguous": lambda: OLD.Create_contiguous(10),
    "vector": lambda: OLD.Create_vector(10, 2, 5),
    "subarray": lambda: OLD.Create_subarray([10, 10], [5, 5], [1, 2]),
    "indexed": lambda: OLD.Create_indexed([1, 2, 3], [0, 10, 20]),
    "struct": lambda: MPI.Datatype.Create_struct([1, 2, 3], [0, 8, 32], [MPI.INT, OLD, MPI.FLOAT]),
}
make = FORMS[sys.argv[1]]
for _ in range(int(sys.argv[2])):
    make().Free()
