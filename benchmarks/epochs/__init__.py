"""The parts of the engine's benchmark, one module each."""
