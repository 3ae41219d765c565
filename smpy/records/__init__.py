"""Results of a run: profile, trace, summary and other files, with their readers and writers."""
