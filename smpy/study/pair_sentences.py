"""Sentences on pairs of settings that differ in one axis."""

from __future__ import annotations

from math import log
from typing import Final

from smpy.study.pairs import NO_DIFFERENCE, PairedEffect

_BELOW: Final = 1e-3  # of logarithms: "less than 0.1 %"


def times(ratio: float) -> str:
    """Write a ratio as a number of times.

    Examples
    --------
    >>> times(2.345), times(1234)
    ('2.35 times', '1,234 times')
    """
    return f"{ratio:,.0f} times" if ratio >= 100 else f"{ratio:.3g} times"


def duration_text(ratio: float) -> str:
    """Compare a duration with another one.

    Parameters
    ----------
    ratio : float
        The duration, as a multiple of the other one.

    Examples
    --------
    >>> duration_text(1.5), duration_text(4), duration_text(0.97), duration_text(1.0001)
    ('50 % longer', '4 times as long', '3 % shorter', 'as long')
    """
    if ratio >= 1.995:
        return f"{times(ratio)} as long"
    if abs(log(ratio)) < NO_DIFFERENCE:
        return "as long"
    return f"{_percent(ratio)} % {'longer' if ratio > 1 else 'shorter'}"


def _percent(ratio: float) -> str:
    percent = abs(ratio - 1) * 100
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.2g}"


def _range(least: float, most: float) -> str:
    texts = duration_text(least), duration_text(most)
    if max(abs(log(least)), abs(log(most))) < _BELOW:
        return "as long, within 0.1 %"
    if texts[0] == texts[1]:
        return texts[0]
    if texts[0].partition(" ")[2] == texts[1].partition(" ")[2]:
        return f"{texts[0].partition(' ')[0]} to {texts[1]}"
    return f"{texts[0]} to {texts[1]}"


def pair_sentences(effect: PairedEffect, cause: str) -> list[str]:
    """Tell an axis' effect, its spread, its cause, and the condition on which it depends.

    Parameters
    ----------
    effect : PairedEffect
        Effect of the axis.
    cause : str
        Words from `smpy.study.pair_causes`; empty: unknown.
    """
    n = effect.n_pairs
    if max(log(effect.most), -log(effect.least)) < NO_DIFFERENCE:
        pairs = "the 1 pair that differs" if n == 1 else f"{n:,} pairs that differ"
        return [f"{effect.axis} makes no difference in {pairs} in nothing else."]
    both = f"{effect.axis}: {effect.slow} against {effect.fast}"
    spread = _range(effect.least, effect.most)
    if n == 1:
        text = f"{both} takes {spread}, in the 1 pair that differs in nothing else."
    elif spread == duration_text(effect.ratio):
        text = f"{both} takes {spread}, in each of {n:,} pairs that differ in nothing else."
    else:
        mean = duration_text(effect.ratio)
        text = f"{both} takes {mean} in the mean, {spread} in {n:,} pairs that differ in nothing else."
    if cause:
        text += f" Point {effect.slow_point} against point {effect.fast_point}: {cause}."
    sentences = [text]
    if effect.interaction:
        its = effect.interaction
        sentences.append(
            f"The effect of {effect.axis} depends on others: with {its.where}, {effect.slow} against {effect.fast} "
            f"takes {_range(its.least, its.most)}; elsewhere {_range(its.least_elsewhere, its.most_elsewhere)}."
        )
    return sentences
