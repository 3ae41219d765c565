"""Counts the bytes that are written to and read from files."""

__all__ = ["BytesOfFiles"]


class BytesOfFiles:
    """Bytes that the ranks of a world have read and written through MPI.

    Attributes
    ----------
    n_read, n_written : int
        Number of bytes.
    """

    __slots__ = ("n_read", "n_written")

    def __init__(self) -> None:
        self.n_read = self.n_written = 0
