"""Dynamic processes: ports, names, connections between groups of ranks that have no communicator in common."""
