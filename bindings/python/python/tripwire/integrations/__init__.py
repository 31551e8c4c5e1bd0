"""Thin adapters for agent frameworks. Each imports its framework only when it is used.

What they share: a refused call gives its reason to the model in place of a result; a held session ends the run with `Held`; what the
guard wants the model to know is appended to the tool's result.
"""
