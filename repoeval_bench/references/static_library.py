"""Types and methods of standard libraries that lead from one value to another."""

INSIDE = frozenset({"Option", "Result", "Optional", "optional", "Mutex", "RwLock", "RefCell", "Cell", "Task"})
OPENS = frozenset({"unwrap", "expect", "unwrap_or_default", "unwrap_or_else", "unwrap_or", "lock", "borrow", "read"})
OPENS |= {"borrow_mut", "write", "value", "get", "orElseThrow", "orElse"}
"""Methods that give what is inside."""
KEEPS = frozenset({"clone", "as_ref", "as_mut", "to_owned", "iter", "iter_mut", "into_iter", "as_deref", "rev", "take"})
KEEPS |= {"cloned", "filter", "skip", "by_ref", "borrow", "ok_or", "ok_or_else", "map_err", "stream", "as_deref_mut"}
ONE = frozenset({"next", "first", "last", "get", "get_mut", "pop", "front", "back", "at", "First", "Last", "poll"})
ONE |= {"FirstOrDefault", "Single", "peek", "remove", "getFirst", "getLast", "begin", "Pop", "Peek", "Dequeue"}
