"""The tables a run leaves behind, and their exporters."""
