"""The contents of messages: memory, datatypes and how they lie in it, operations, pickled objects."""
