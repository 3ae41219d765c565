"""Files that several ranks open together (MPI-IO)."""
