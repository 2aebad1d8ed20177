"""What is done to a cache behind its back, and a pickle that tells whether it was read."""

import os
import pickle
import sqlite3
from contextlib import closing


class Planted:
    """Makes a folder when it is read from a pickle."""

    def __init__(self, proof):
        self.proof = proof

    def __reduce__(self):
        return os.mkdir, (str(self.proof),)


def planted(proof):
    """Return the pickle that makes this folder where it is read."""
    return pickle.dumps(Planted(proof))


def select(folder, statement, *values):
    """Return the rows that the database of a cache has for a statement."""
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        return database.execute(statement, values).fetchall()


def change(folder, statement, *values):
    """Change the database of a cache; at least one row has to be there to change."""
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        assert database.execute(statement, values).rowcount > 0
