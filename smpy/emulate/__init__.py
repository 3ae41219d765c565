"""A program becomes ranks: private modules, virtual time, start and end of ranks, failure and deadlock reports."""
