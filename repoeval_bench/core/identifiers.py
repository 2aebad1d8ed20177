"""Identifiers: the nodes of a syntax tree that are identifiers, and the built-in names of each language.

Keywords are not identifiers in any grammar. The tables of built-in names are fixed, so that no score depends on the
version of an interpreter.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from repoeval_bench.core.syntax import Parsed

_SCRIPT = (
    "identifier",
    "property_identifier",
    "shorthand_property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier_pattern",
    "statement_identifier",
)
_C = ("identifier", "field_identifier", "type_identifier", "statement_identifier")
IDENTIFIER_KINDS = {
    "python": ("identifier",),
    "javascript": _SCRIPT,
    "typescript": (*_SCRIPT, "type_identifier"),
    "tsx": (*_SCRIPT, "type_identifier"),
    "java": ("identifier", "type_identifier"),
    "go": ("identifier", "field_identifier", "type_identifier", "package_identifier", "label_name"),
    "rust": ("identifier", "field_identifier", "type_identifier", "shorthand_field_identifier"),
    "c": _C,
    "cpp": (*_C, "namespace_identifier"),
    "csharp": ("identifier",),
}
"""Language -> the nodes that are identifiers."""

# Names of the module builtins in Python 3.10 to 3.14, and those that every module has.
_PYTHON = """
ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup
FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning
IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
ModuleNotFoundError NameError NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError
ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError
SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError
__build_class__ __debug__ __doc__ __file__ __import__ __loader__ __name__ __package__ __path__ __spec__
abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright
credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash
help hex id input int isinstance issubclass iter len license list locals map max memoryview min next object oct open
ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple type
vars zip
"""
# Properties of ECMAScript's global object (ECMA-262, 2025), and those that every host adds.
_JAVASCRIPT = """
AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError
FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Iterator
JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String
Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet
arguments console constructor decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite
isNaN parseFloat parseInt undefined unescape
"""
# The utility types of TypeScript's handbook.
_TYPESCRIPT = """
Awaited Capitalize ConstructorParameters Exclude Extract InstanceType Lowercase NoInfer NonNullable Omit
OmitThisParameter Parameters Partial Pick Readonly ReadonlyArray Record Required ReturnType ThisParameterType ThisType
Uncapitalize Uppercase
"""
# Types of java.lang (Java SE 21), and `var`.
_JAVA = """
Appendable ArithmeticException ArrayIndexOutOfBoundsException ArrayStoreException AssertionError AutoCloseable Boolean
Byte CharSequence Character Class ClassCastException ClassLoader ClassNotFoundException CloneNotSupportedException
Cloneable Comparable Deprecated Double Enum Error Exception Float FunctionalInterface IllegalAccessException
IllegalArgumentException IllegalMonitorStateException IllegalStateException IndexOutOfBoundsException
InstantiationException Integer InterruptedException Iterable LinkageError Long Math Module NegativeArraySizeException
NoSuchFieldException NoSuchMethodException NullPointerException Number NumberFormatException Object OutOfMemoryError
Override Package Process ProcessBuilder Readable Record ReflectiveOperationException Runnable Runtime RuntimeException
SafeVarargs SecurityException Short StackOverflowError StackTraceElement StrictMath String StringBuffer StringBuilder
StringIndexOutOfBoundsException SuppressWarnings System Thread ThreadGroup ThreadLocal Throwable
UnsupportedOperationException Void var
"""
# Predeclared identifiers of the Go specification (1.23).
_GO = """
any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32 float64
imag int int16 int32 int64 int8 iota len make max min new nil panic print println real recover rune string true uint
uint16 uint32 uint64 uint8 uintptr
"""
# The prelude and the macros of Rust's standard library (1.80, edition 2021), without file, line and the like, which are
# more often names of variables; and primitive types.
_RUST = """
AsMut AsRef Box Clone Copy Default DoubleEndedIterator Drop Eq Err ExactSizeIterator Extend Fn FnMut FnOnce From
FromIterator Into IntoIterator Iterator None Ok Option Ord PartialEq PartialOrd Result Self Send Sized Some String Sync
ToOwned ToString TryFrom TryInto Unpin Vec
assert assert_eq assert_ne compile_error dbg debug_assert debug_assert_eq debug_assert_ne drop eprint eprintln format
format_args include_bytes include_str matches module_path option_env panic print println stringify thread_local todo
unimplemented unreachable vec write writeln
bool char f32 f64 i128 i16 i32 i64 i8 isize str u128 u16 u32 u64 u8 usize
"""
_BUILTINS = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT + _TYPESCRIPT,
    "tsx": _JAVASCRIPT + _TYPESCRIPT,
    "java": _JAVA,
    "go": _GO,
    "rust": _RUST,
    # Names that headers declare belong to a library, not to the language.
    "c": "NULL",
    "cpp": "NULL std",
    "csharp": "dynamic nameof notnull unmanaged var",
}


@cache
def builtin_names(language: str) -> frozenset[str]:
    """The names that code can use without an import; `language` is the name of one of `LANGUAGES`."""
    return frozenset(_BUILTINS[language].split())


def identifiers_in(parsed: Parsed, lines: LineSpan) -> frozenset[str]:
    """The identifiers on these lines of a file, without keywords, built-in names, string literals and comments.

    Code that is interpolated into a string counts. Prefixes of a name (`#x`, `@x`, `r#x`) are removed.
    """
    name = parsed.language.name
    query = "[" + " ".join(f"({kind})" for kind in IDENTIFIER_KINDS[name]) + "] @name"
    names = {
        parsed.text(node).removeprefix("r#").lstrip("#@")
        for captured in parsed.matches(query, lines)
        for node in captured["name"]
    }
    return frozenset(names - builtin_names(name) - {"", "_"})
