"""Methods of the languages' own types with compound names: a call of one says nothing of the repository's.

Names of one word are left out before, so only compound ones of 6 characters or more are here.
"""

from __future__ import annotations

from collections.abc import Mapping

_JAVASCRIPT = """
addEventListener appendChild charAt charCodeAt codePointAt createElement defineProperty dispatchEvent endsWith
findIndex findLast findLastIndex flatMap forEach fromCharCode fromEntries getAttribute getDate getDay getElementById
getFullYear getHours getMinutes getMonth getOwnPropertyDescriptor getOwnPropertyNames getPrototypeOf getSeconds
getTime hasOwn hasOwnProperty indexOf insertBefore isArray isFinite isInteger isPrototypeOf lastIndexOf localeCompare
matchAll padEnd padStart parseFloat parseInt preventDefault querySelector querySelectorAll reduceRight removeAttribute
removeChild removeEventListener replaceAll setAttribute setInterval setPrototypeOf setTimeout startsWith
stopPropagation toFixed toISOString toJSON toLocaleLowerCase toLocaleString toLocaleUpperCase toLowerCase toPrecision
toReversed toSorted toSpliced toString toUpperCase trimEnd trimStart valueOf
"""
_JAVA = """
addAll charAt compareTo compareToIgnoreCase computeIfAbsent computeIfPresent containsAll containsKey containsValue
copyOf copyOfRange endsWith ensureCapacity entrySet equalsIgnoreCase forEach getBytes getCause getClass
getDeclaredMethods getFirst getInstance getKey getLast getLength getMessage getMethod getName getOrDefault getProperty
getSimpleName getStackTrace getType getValue hasMoreElements hasNext hashCode identityHashCode ifPresent indexOf
intValue isAssignableFrom isBlank isEmpty isInstance isPresent keySet lastIndexOf listIterator longValue mapToInt
mapToObj newInstance nextInt notifyAll orElse orElseGet orElseThrow parseInt printStackTrace putAll putIfAbsent
readLine removeAll removeFirst removeIf removeLast replaceAll replaceFirst retainAll setLength startsWith subList
subSequence toArray toCharArray toList toLowerCase toString toUpperCase valueOf
"""
_CSHARP = """
AddRange AppendLine AsSpan BinarySearch CompareTo ConfigureAwait ContainsKey ContainsValue CopyTo EndsWith
FirstOrDefault GetAwaiter GetBytes GetCustomAttributes GetEnumerator GetHashCode GetMethod GetMethods GetProperties
GetProperty GetResult GetString GetType GetValue IndexOf InsertRange IsAssignableFrom IsMatch IsNullOrEmpty
IsNullOrWhiteSpace LastIndexOf LastOrDefault MoveNext OrderBy OrderByDescending PadLeft PadRight ReadLine ReadToEnd
ReferenceEquals RemoveAll RemoveAt RemoveRange SelectMany SequenceEqual SetValue SingleOrDefault SkipWhile StartsWith
TakeWhile ThenBy ToArray ToCharArray ToDictionary ToInt32 ToInt64 ToList ToLower ToLowerInvariant ToString ToUpper
ToUpperInvariant TrimEnd TrimStart TryAdd TryGetValue TryParse WriteLine
"""
_GO = """
EqualFold HasPrefix HasSuffix IndexByte LastIndex LoadOrStore MarshalJSON MustCompile ParseBool ParseFloat ParseInt
ReadAll ReadByte ReadBytes ReadDir ReadFile ReadFull ReadRune ReadString ReplaceAll SplitN StringVar TempDir ToLower
ToUpper TrimLeft TrimPrefix TrimRight TrimSpace TrimSuffix UnmarshalJSON WriteByte WriteFile WriteRune WriteString
"""
_RUST = """
and_then as_bytes as_deref as_mut as_mut_ptr as_mut_slice as_ptr as_ref as_slice as_str as_string borrow_mut
checked_add checked_sub chunks_exact clone_from contains_key copy_from_slice copy_within drain_filter ends_with
extend_from_slice filter_map find_map flat_map for_each from_be_bytes from_bytes from_iter from_le_bytes from_str
from_utf8 get_mut get_or_insert_with get_unchecked get_unchecked_mut into_boxed_slice into_inner into_iter into_string
is_alphabetic is_ascii is_char_boundary is_digit is_empty is_err is_none is_null is_some is_whitespace iter_mut
last_mut leading_zeros make_ascii_lowercase map_err map_or map_or_else max_value min_value next_back ok_or_else
or_default or_else or_insert or_insert_with partial_cmp pop_back pop_front push_back push_front push_str retain_mut
saturating_add saturating_sub size_hint size_of skip_while sort_by sort_by_key sort_unstable split_at split_at_mut
split_first split_last starts_with strip_prefix strip_suffix swap_remove take_while to_ascii_lowercase to_be_bytes
to_le_bytes to_lowercase to_owned to_string to_uppercase to_vec trailing_zeros trim_end trim_start try_from try_into
type_name unwrap_err unwrap_or unwrap_or_default unwrap_or_else with_capacity wrapping_add wrapping_mul wrapping_sub
write_all write_fmt write_str
"""
_C = """
at_exit compare_exchange_strong compare_exchange_weak emplace_back emplace_front find_first_not_of find_first_of
find_if find_last_not_of find_last_of for_each get_allocator has_value lower_bound make_pair make_shared make_tuple
make_unique max_size notify_all notify_one pop_back pop_front push_back push_front shrink_to_fit sort_heap
static_pointer_cast to_string upper_bound use_count value_or
"""
_PYTHON = """
as_integer_ratio bit_count bit_length difference_update format_map from_bytes intersection_update is_integer
symmetric_difference symmetric_difference_update to_bytes
"""
COMMON: Mapping[str, frozenset[str]] = {
    "python": frozenset(_PYTHON.split()),
    "javascript": frozenset(_JAVASCRIPT.split()),
    "java": frozenset(_JAVA.split()),
    "csharp": frozenset(_CSHARP.split()),
    "go": frozenset(_GO.split()),
    "rust": frozenset(_RUST.split()),
    "c": frozenset(_C.split()),
}
"""Family of languages -> such names."""
