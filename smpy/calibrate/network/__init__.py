"""Calibrates messages: what calls cost, latency and bandwidth by size, and the eager limit."""
