"""Reports on a run: deadlocks, tracebacks, remarks, profile and trace."""
