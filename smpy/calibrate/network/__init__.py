"""Calibrates messages: overheads of calls, latency and bandwidth by size, and the eager limit."""
