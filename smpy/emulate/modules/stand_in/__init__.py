"""Stand-ins for packages that programs expect to be installed."""
