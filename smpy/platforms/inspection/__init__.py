"""Views of a machine: numbers, drawings, odd values."""
