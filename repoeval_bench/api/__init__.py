"""Functions for scripts and commands: find stored runs by name, make missing ones, and call `analysis`."""
