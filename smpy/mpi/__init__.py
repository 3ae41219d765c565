"""What a program sees as `mpi4py.MPI`, on a simulated machine.

One module for all ranks: a handle holds a number and no rank, and asks which rank runs. A method reads its arguments,
makes one call of the engine and returns; families of calls are files of their own. Names and behaviour are mpi4py's
[1]_.

`data` describes what messages are made of, `requests` operations under way, `collectives` one rank's part in a
collective and what the ranks leave for each other; `comms`, `topology`, `rma` and `io` hold the handles of programs.

References
----------
.. [1] L. Dalcin, Y.-L. L. Fang, "mpi4py: Status Update After 12 Years of Development", Computing in Science &
   Engineering 23(4), 2021; https://mpi4py.readthedocs.io
"""
