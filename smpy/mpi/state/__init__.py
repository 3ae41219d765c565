"""What every layer of the surface shares: constants, errors, handles, and what it keeps of one world."""
