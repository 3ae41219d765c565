"""Packages that a program expects to be installed, for when they are not."""
