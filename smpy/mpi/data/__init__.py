"""Contents of messages: memory, datatypes of its entries, operations and pickled objects."""
