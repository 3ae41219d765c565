"""Files opened together."""
