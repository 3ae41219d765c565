"""One page of HTML on a trace: makespan, costliest lines, and a timeline to zoom into. It needs no network."""
