"""C#: overloads, defaults and `params`, classes in parts; a file sees all namespaces."""

from __future__ import annotations

from typing import ClassVar

from repoeval_bench.references.language_rules import LanguageRules
from repoeval_bench.references.static_nodes import parameters_of

_COMMON = """
AddRange AppendLine AsSpan BinarySearch CompareTo ConfigureAwait ContainsKey ContainsValue CopyTo EndsWith
FirstOrDefault GetAwaiter GetBytes GetCustomAttributes GetEnumerator GetHashCode GetMethod GetMethods GetProperties
GetProperty GetResult GetString GetType GetValue IndexOf InsertRange IsAssignableFrom IsMatch IsNullOrEmpty
IsNullOrWhiteSpace LastIndexOf LastOrDefault MoveNext OrderBy OrderByDescending PadLeft PadRight ReadLine ReadToEnd
ReferenceEquals RemoveAll RemoveAt RemoveRange SelectMany SequenceEqual SetValue SingleOrDefault SkipWhile StartsWith
TakeWhile ThenBy ToArray ToCharArray ToDictionary ToInt32 ToInt64 ToList ToLower ToLowerInvariant ToString ToUpper
ToUpperInvariant TrimEnd TrimStart TryAdd TryGetValue TryParse WriteLine
"""


class CSharp(LanguageRules):
    """C#. No `using` is read: a namespace does not say which files it is in."""

    common: ClassVar = frozenset(_COMMON.split())
    own: ClassVar = frozenset({"this", "base"})
    above: ClassVar = frozenset({"base"})
    implicit_members = True
    overloads = True
    inner_types = True
    sees_all = True

    def may_take(self, signature: str, arguments: int) -> bool:
        """Say whether a call fits by defaults of parameters or by `params`."""
        parameters = parameters_of(signature)
        open_ended = any(parameter.startswith("params ") for parameter in parameters)
        needed = sum(1 for parameter in parameters if "=" not in parameter) - open_ended
        return needed <= arguments and (open_ended or arguments <= len(parameters))
