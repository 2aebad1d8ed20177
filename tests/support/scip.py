"""A SCIP index written byte by byte, as scip.proto numbers its fields."""


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    """Return a field of a message: a number, or bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def occurrence(place, symbol, roles=0):
    """Return that a symbol is at (line, start, end); of role 1 it is defined there."""
    return field(
        2, field(1, b"".join(map(varint, place))) + field(2, symbol.encode()) + field(3, roles) + field(9, b"x")
    )


def document(path, *occurrences, encoding=0):
    return field(2, field(1, path.encode()) + b"".join(occurrences) + (field(6, encoding) if encoding else b""))
