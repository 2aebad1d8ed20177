"""The grammar of Java."""

import re
from html import unescape

from repoeval_bench.core.grammars.grammar import (
    BLOCK_AND_LINE,
    MANAGED,
    NEW,
    TAG,
    Grammar,
    declarators,
    named_all,
    words,
)

# Types of java.lang (Java SE 21), and `var`.
_BUILTINS = """
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
_CODE = re.compile(r"\{@(?:code|literal)\s+((?:[^{}]|\{[^{}]*\})*)\}")
_BLOCK = re.compile(r"</?(?:p|pre|blockquote|[uod]l|table|h[1-6])\b[^<>]*>", re.IGNORECASE)
_BETWEEN_WORDS = re.compile(r"</?(?:br|li|d[td]|t[dhr])\b[^<>]*>", re.IGNORECASE)


def _plain(text: str) -> str:
    """Return Javadoc without markup. Code is plain text, angle brackets included; the rest is HTML."""
    parts = _CODE.split(text)
    return "".join(part if index % 2 else _without_html(part) for index, part in enumerate(parts))


def _without_html(text: str) -> str:
    """Javadoc without HTML: blank lines for tags of blocks, and the shown text for entities and for inline tags."""
    text = _BETWEEN_WORDS.sub(" ", _BLOCK.sub("\n\n", text))
    return unescape(re.sub(r"\{@\w+\s+([^{}]*)\}", r"\1", TAG.sub("", text)))


JAVA = Grammar(
    anywhere={
        **named_all("class", class_="class_declaration", interface="interface_declaration", enum="enum_declaration"),
        **named_all("class", record="record_declaration", annotation="annotation_type_declaration"),
        **named_all("method", method="method_declaration annotation_type_element_declaration"),
        **named_all("method", constructor="constructor_declaration compact_constructor_declaration"),
    },
    members={
        **named_all("variable", enumerator="enum_constant"),
        "field_declaration": declarators("field"),
        "constant_declaration": declarators("constant"),
    },
    transparent=words("class_body interface_body enum_body enum_body_declarations annotation_type_body"),
    identifiers=("identifier", "type_identifier"),
    builtins=words(_BUILTINS),
    calls={
        "method_invocation": ("", {"method_invocation": ("name", "identifier")}),
        "object_creation_expression": ("type", NEW),
    },
    comments=BLOCK_AND_LINE,
    imports="(import_declaration (scoped_identifier name: (_) @name))",
    separators=MANAGED,
    plain=_plain,
)
