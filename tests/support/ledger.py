"""The module that tests and documents of a small package ask for."""

LEDGER = '''class Ledger:
    """Who owes whom."""

    limit = 3

    def settle_debts(self, names):
        """Return what is owed."""
        return [name for name in names if name]

    def close(self):
        return self.limit


def parse_entry(text):
    fields = text.split(",")
    return fields


'''
