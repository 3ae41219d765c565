"""Virtual topologies, and collectives among neighbours."""
