"""What messages are made of: memory, datatypes and how they lie in it, operations, pickled objects."""
