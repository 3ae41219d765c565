"""The MPI surface: `mpi4py.MPI` on a simulated machine.

One module for all ranks: a handle holds a number and no rank, and asks which rank runs. A method reads its arguments,
makes one call of the engine and returns; families of calls are files of their own. Names and behaviour are mpi4py's
[1]_.

The layers, from the bottom: `state` has the state of one world and the parts that all layers share; `data` describes
the contents of messages, `requests` operations under way, `collectives` one rank's part in a collective and the
contributions that ranks leave for each other; `comms` holds communicators and groups; `topology`, `rma` and `io` stand
beside each other on top, and so do the `checks` of a run with --check. Functions for conformance alone stand apart, in
`conformance`. A layer imports those below it (``tests/project/test_imports.py``); a higher layer registers with a lower
one when it is imported.

References
----------
.. [1] L. Dalcin, Y.-L. L. Fang, "mpi4py: Status Update After 12 Years of Development", Computing in Science &
   Engineering 23(4), 2021; https://mpi4py.readthedocs.io
"""
