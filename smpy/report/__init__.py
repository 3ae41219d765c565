"""One page of HTML on a trace: what it took, where the time went, and a timeline to zoom into. It needs no network."""
