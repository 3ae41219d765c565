"""The MPI surface: `mpi4py.MPI` on a simulated machine.

One module for all ranks: a handle holds a number and no rank, and asks which rank runs. A method reads its arguments,
makes one call of the engine and returns; families of calls are files of their own. Names and behaviour are mpi4py's
[1]_.

The layers, from the bottom: `state` is what all of them share and what is kept of one world; `data` describes what
messages are made of, `requests` operations under way, `collectives` one rank's part in a collective and what the ranks
leave for each other; `comms` holds communicators and groups; `topology`, `rma` and `io` stand beside each other on top.
What only conformance needs stands apart, in `conformance`. A layer imports those below it
(``tests/unit/test_imports.py``), and what a lower one has to know of a higher one is told to it when the higher one is
imported.

References
----------
.. [1] L. Dalcin, Y.-L. L. Fang, "mpi4py: Status Update After 12 Years of Development", Computing in Science &
   Engineering 23(4), 2021; https://mpi4py.readthedocs.io
"""
