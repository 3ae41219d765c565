"""The exchange of neighbourhood collectives."""
