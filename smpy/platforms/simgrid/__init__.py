"""What only SimGrid's platform files need: their XML, and the names of its options."""
