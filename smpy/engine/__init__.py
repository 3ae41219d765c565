"""The Python face of the event kernel: the running rank, and the one switch between ranks."""
