"""Modelled computing: kernels take the time that a model predicts."""
