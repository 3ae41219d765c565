"""The lowest layer of the surface: constants, errors, handles, and the state of one world."""
