"""Uneven blocks, some of them empty, as in peer.h: what a rank contributes, and what one sends to another."""


def own_size(n_bytes: int, of: int) -> int:
    return (of * 7 + 3) % 5 * n_bytes // 2


def pair_size(n_bytes: int, source: int, target: int) -> int:
    return (source * 3 + target * 5 + 1) % 4 * n_bytes
