"""`python -m mpi4py [FILE | -m MODULE | -c CODE] [ARGS...]`: a program that fails ends all ranks, by its exit code."""

import os
import runpy
import sys


def set_abort_status(status: object) -> None:
    """Abort all ranks when this one ends, with a number or the exit code that an exception implies."""
    if isinstance(status, SystemExit):
        status = status.code
    if not isinstance(status, int):
        status = 0 if status is None else 1
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and status:
        mpi._set_abort_status(status)


def main() -> None:
    """Run the program that the command line names as `__main__`."""
    del sys.argv[0]
    if not sys.argv:
        raise SystemExit("usage: python -m mpi4py [FILE | -m MODULE | -c CODE] [ARGS...]")
    try:
        _run()
    except SystemExit as exit_:
        set_abort_status(exit_)
        raise


def _run() -> None:
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif sys.argv[0] == "-c":
        code = compile(sys.argv.pop(1), "<string>", "exec")
        exec(code, {"__name__": "__main__"})  # noqa: S102  # running it was asked for
    else:
        sys.path[0] = os.path.realpath(os.path.dirname(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
