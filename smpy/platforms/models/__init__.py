"""Models of a machine: messages, calls, kernels, memory, prices."""
