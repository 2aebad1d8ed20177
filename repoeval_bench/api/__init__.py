"""Functions for scripts and commands: find stored runs by their names, make missing ones, ask `analysis`."""
