"""SimGrid's platform files: their XML, and the names of SimGrid's options. Nothing else needs these modules."""
