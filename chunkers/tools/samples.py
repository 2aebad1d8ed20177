"""A small file of each language, for the conformance suite: comments, nesting, decorators, text of several bytes."""

from __future__ import annotations

SAMPLES: dict[str, tuple[str, str]] = {
    "python": (
        "sample.py",
        '''\
"""Größen."""
import os


@cached
async def sizes(paths: list[str]) -> dict[str, int]:
    """Sizes by path."""
    found = {}
    for path in paths:  # each
        found[path] = os.stat(path).st_size
    return found


class Folder:
    unit: str = "KiB"

    @property
    def name(self):
        return "中文" + self.unit
''',
    ),
    "javascript": (
        "sample.js",
        """\
import { stat } from 'fs/promises';

/** Größen by path. */
export const sizes = async (paths) => {
  const found = {};
  for (const path of paths) {
    found[path] = (await stat(path)).size; // 中文
  }
  return found;
};

class Folder extends Base {
  static unit = `KiB ${1024}`;
  get name() {
    return this.#name ?? /[/"']/.exec('x');
  }
}
module.exports = { sizes, Folder };
""",
    ),
    "typescript": (
        "sample.ts",
        """\
import type { Stats } from 'fs';

export interface Sized<T> {
  readonly size: T;
  grow(by: T): Promise<void>;
}

/** Größen by path. */
export function sizes(paths: string[]): Map<string, number>;
export function sizes(paths: readonly string[]) {
  return new Map(paths.map((path) => [path, path.length] as const));
}

@injectable()
export abstract class Folder<T extends Sized<number>> {
  constructor(private readonly of: T, public name = '中文') {}
  abstract list(): AsyncGenerator<string>;
}
""",
    ),
    "tsx": (
        "sample.tsx",
        """\
import React from 'react';

type Props = { paths: string[]; title?: string };

// Größen by path.
export function Sizes({ paths, title = '中文' }: Props) {
  const [open, setOpen] = React.useState<boolean>(false);
  return (
    <section onClick={() => setOpen(!open)}>
      <h1>{title}</h1>
      {open && paths.map((path) => <li key={path}>{path.length}</li>)}
    </section>
  );
}
""",
    ),
    "java": (
        "Sample.java",
        """\
package org.example;

import java.util.*;

/** Größen by path. */
@Named("中文")
public final class Sample<T extends Comparable<T>> implements Iterable<T> {
  private final Map<String, Long> found = new HashMap<>();

  public Sample(List<String> paths) {
    for (String path : paths) {
      found.put(path, (long) path.length());
    }
  }

  @Override
  public Iterator<T> iterator() {
    return new Iterator<>() {
      public boolean hasNext() { return false; }
      public T next() { throw new NoSuchElementException(); }
    };
  }

  enum Unit { BYTE, KIB { int factor() { return 1024; } }; int factor() { return 1; } }
}
""",
    ),
    "go": (
        "sample.go",
        """\
package sample

import "os"

const (
	Byte = 1 << (10 * iota)
	KiB
)

// Sizes gives Größen by path.
func Sizes(paths []string) (map[string]int64, error) {
	found := make(map[string]int64)
	for _, path := range paths { // 中文
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		found[path] = info.Size()
	}
	return found, nil
}

type Folder[T any] struct {
	name string `json:"name"`
}

func (f *Folder[T]) Name() string { return f.name }
""",
    ),
    "rust": (
        "sample.rs",
        """\
//! Größen.
use std::collections::HashMap;

/// Sizes by path.
#[must_use]
pub fn sizes<'a>(paths: &'a [String]) -> HashMap<&'a str, usize> {
    let mut found = HashMap::new();
    for path in paths {
        found.insert(path.as_str(), path.len()); // 中文
    }
    found
}

#[derive(Debug)]
pub struct Folder<T> { name: String, of: Option<T> }

impl<T: Clone> Folder<T> {
    const UNIT: &'static str = r#"KiB""#;

    pub fn name(&self) -> &str {
        match self.of { Some(_) => &self.name, None => "none" }
    }
}

macro_rules! folder { ($n:expr) => { Folder { name: $n.into(), of: None::<()> } }; }
""",
    ),
    "c": (
        "sample.c",
        """\
#include <stdio.h>
#define KIB(n) ((n) * \\
                1024)

typedef struct folder {
    const char *name;
    long (*size)(const char *path);
} folder_t;

/* Größen of a path: 中文 */
static long
size_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
#ifdef HAVE_SEEK
    fseek(file, 0, SEEK_END);
#endif
    return ftell(file);
}

folder_t folders[] = {
    {"a", size_of},
    {"b", NULL},
};
""",
    ),
    "cpp": (
        "sample.cpp",
        """\
#include <map>
#include <string>

namespace sample {

/// Größen by path.
template <typename Paths>
auto sizes(const Paths &paths) -> std::map<std::string, std::size_t> {
  std::map<std::string, std::size_t> found;
  for (const auto &path : paths) found[path] = path.size();  // 中文
  return found;
}

class Folder : public Base {
 public:
  explicit Folder(std::string name) : name_(std::move(name)) {}
  bool operator<(const Folder &other) const { return name_ < other.name_; }

 private:
  std::string name_ = R"(none)";
};

std::string Folder::name() const { return name_; }

}  // namespace sample
""",
    ),
    "csharp": (
        "Sample.cs",
        """\
using System.Collections.Generic;

namespace Sample
{
    /// <summary>Größen by path.</summary>
    [Serializable]
    public sealed class Folder<T> : IComparable<T> where T : class
    {
        public string Name { get; private set; } = "中文";
        public int Length => Name.Length;

        public static Dictionary<string, long> Sizes(IEnumerable<string> paths)
        {
            var found = new Dictionary<string, long>();
            foreach (var path in paths)
            {
                found[path] = new FileInfo(path).Length; // each
            }
            return found;
        }

        public event EventHandler Changed { add { } remove { } }
    }
}
""",
    ),
}
"""language -> name and text of a file in it."""
