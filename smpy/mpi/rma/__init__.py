"""Windows on memory."""
