"""Programs that Hypothesis draws."""

from hypothesis import strategies as st

from tests.analysis.small_run import Barrier, Compute, Message, Step

SECONDS = st.floats(0.001, 10, allow_nan=False)


@st.composite
def programs(draw: st.DrawFn) -> tuple[int, list[Step]]:
    """A number of ranks, and what they do."""
    n_ranks = draw(st.integers(2, 5))
    ranks = st.integers(0, n_ranks - 1)
    lines = st.integers(1, 4)
    computing = st.builds(Compute, ranks, SECONDS, lines, st.sampled_from(["", "dgemm"]))
    ends = st.permutations(range(n_ranks)).map(lambda order: order[:2])
    sizes = st.integers(0, 3_000_000_000)
    messages = st.builds(lambda ends, *rest: Message(*ends, *rest), ends, sizes, lines, st.booleans())
    steps = st.lists(st.one_of(computing, messages, st.builds(Barrier, lines)), min_size=1, max_size=25)
    return n_ranks, draw(steps)
