"""Studies: one program over machines, sizes, networks, topologies and mappings, run and compared."""
