"""SimGrid's platform files: their XML, and the names of SimGrid's options. Only such files import these modules."""
