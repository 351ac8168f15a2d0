"""The parts of `guard.py`: TPC-DS through a guarded session beside plain Spark."""
