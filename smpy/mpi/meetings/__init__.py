"""Where the ranks of a collective meet, and what each call leaves and takes there."""
