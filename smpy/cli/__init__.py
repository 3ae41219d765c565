"""The command line: one module per command, which reads arguments, calls the library and prints."""
