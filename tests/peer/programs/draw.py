"""Drawn numbers that the Python programs and their C twins agree on."""


class Draw:
    """A linear congruential generator; the same sequence as `draw` in peer.h."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, limit: int) -> int:
        """A number in 0 .. limit - 1."""
        self._state = (self._state * 1103515245 + 12345) & 0x7FFFFFFF
        return (self._state >> 8) % limit

    def permutation(self, n: int) -> list[int]:
        """A permutation of 0 .. n - 1 (Fisher-Yates)."""
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order
