"""What scripts and commands call: it finds stored runs by their names, makes missing ones, and asks `analysis`."""
