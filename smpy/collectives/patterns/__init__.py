"""Building blocks that algorithms of several operations share."""
