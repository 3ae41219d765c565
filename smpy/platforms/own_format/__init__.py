"""Machines in our own formats: a TOML file, or one line. Nothing else needs these modules."""
