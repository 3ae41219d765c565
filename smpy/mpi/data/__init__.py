"""The contents of messages: memory, datatypes and their bytes in it, operations, pickled objects."""
