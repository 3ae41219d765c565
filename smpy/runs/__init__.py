"""A run as a value: made by a function, in a process of its own."""
