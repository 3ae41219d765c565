"""A run as the value of a function call, performed in a process of its own."""
