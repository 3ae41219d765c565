"""Communicators and groups: handles put together of families of methods."""
