"""Simulation of reference members and the reference coordinator on one event heap.

A run covers virtual years from one seed, with faults. All invariants are checked at each event.
"""
