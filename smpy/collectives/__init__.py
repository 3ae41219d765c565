"""Collective algorithms as schedules, and the tables that choose among them."""
