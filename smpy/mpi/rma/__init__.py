"""Windows: one-sided access to memory of other ranks."""
