"""Machines in our own formats: a TOML file, or one line. Only a machine in one of them imports these modules."""
