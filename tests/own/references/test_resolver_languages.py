"""Small repositories in the other languages: what the names on some lines mean is written beside them."""

import pytest

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.resolver import Resolver
from support.written import sources, uses

MARK = "HOLE"
"""Ends the lines that are asked for, in a comment."""

TYPESCRIPT = {
    "src/shop.ts": """\
/** A thing to buy. */
export class Item {
  static kinds = 3;
  price: number;
  constructor(price: number) { this.price = price; }
  label(): string { return "x"; }
}
export const LIMIT = 3;
export function rate(x: number): number {
  return x;
}
export default function main() {
  return 1;
}
export function roundedTotal(x: number) { return x; }
""",
    "src/index.ts": 'export * from "./shop";\nexport { rate as exchange } from "./shop";\n',
    "src/task.ts": """\
import { Item, LIMIT as MOST } from "./shop";
import main, * as shop from "./shop";
import { exchange } from "./index";
import { z } from "zod";

class Special extends Item {
  extra = 1;
  total(x: number, rate: number) {
    const price = x; // HOLE
    this.label(); // HOLE
    this.extra; // HOLE
    return main() + exchange(MOST) + shop.rate(price) + rate + Item.kinds; // HOLE
    z.string(); x.roundedTotal(); new Missing(); // HOLE
  }
}
""",
}
JAVASCRIPT = {
    "lib/util.js": "function slugify(text) {\n  return text;\n}\nconst SIZE = 3;\nmodule.exports = { slugify, SIZE };\n",
    "lib/task.js": """\
const { slugify } = require("./util");
const util = require("./util.js");
function local() { return 1; }
function written(a) {
  return local() + slugify(a) + util.SIZE; // HOLE
}
""",
}
GO = {
    "store/item.go": """\
package store

// Item is a thing.
type Item struct {
	Price int
}

func NewItem(price int) *Item {
	return &Item{Price: price}
}
""",
    "task.go": """\
package main

import (
	"fmt"
	st "example.com/shop/store"
	"example.com/shop/store"
)

func helper() int { return 1 }

func written(price int) int {
	item := st.NewItem(price) // HOLE
	var other store.Item // HOLE
	fmt.Println(item, other, helper(), beside()) // HOLE
	return price // HOLE
}
""",
    "beside.go": "package main\n\nfunc beside() int { return 2 }\n",
}
JAVA = {
    "src/com/shop/Base.java": "package com.shop;\n\npublic class Base {\n  protected int size;\n  int grow() { return 1; }\n}\n",
    "src/com/shop/Beside.java": "package com.shop;\n\nclass Beside {\n  static int count() { return 1; }\n}\n",
    "src/com/util/Maths.java": "package com.util;\n\npublic class Maths {\n  public static int round(int x) { return x; }\n}\n",
    "src/com/shop/Task.java": """\
package com.shop;

import com.util.Maths;
import org.junit.Test;

class Task extends Base {
  private int own;
  int written(int size, int limit) {
    int local = own + size; // HOLE
    return grow() + Maths.round(local) + Beside.count() + limit; // HOLE
  }
}
""",
}
RUST = {
    "src/lib.rs": "pub mod store;\npub mod task;\n",
    "src/store/mod.rs": "pub struct Item { pub price: u32 }\nimpl Item {\n    pub fn new(price: u32) -> Item { Item { price } }\n}\n"
    "pub fn rate(x: u32) -> u32 { x }\npub const MOST: u32 = 3;\n",
    "src/task.rs": """\
use crate::store::{self, rate as exchange, Item};
use serde::Serialize;

fn helper() -> u32 { 1 }

pub fn written(price: u32) -> u32 {
    let item = Item::new(price); // HOLE
    exchange(price) + store::MOST + helper() // HOLE
}
""",
}
C = {
    "inc/shop.h": "struct item { int price; };\nint rate(int x);\n#define MOST 3\n",
    "src/shop.c": '#include "shop.h"\n\n/* The rate. */\nint rate(int x) {\n  return x;\n}\n',
    "src/task.c": """\
#include <stdio.h>
#include "shop.h"

static int helper(int rate) { return rate; }

int written(int price) {
  struct item one; // HOLE
  return helper(price) + rate(price) + MOST; // HOLE
}
""",
}
CPP = {
    "shop.hpp": "class Base {\n public:\n  int grow();\n};\nclass Item : public Base {\n public:\n  int total(int x);\n  int size;\n};\n",
    "shop.cpp": '#include "shop.hpp"\nint Base::grow() { return 1; }\nint Item::total(int x) {\n  return grow() + size + x; // HOLE\n}\n',
}
CSHARP = {
    "Shop/Item.cs": "namespace Shop {\n  public class Item {\n    public int Price;\n    public static int Count() { return 1; }\n  }\n}\n",
    "Task.cs": """\
using Shop;
class Task {
  private int own;
  int Helper() { return 1; }
  int Written(int own2) {
    var item = new Item(); // HOLE
    return Helper() + own + Item.Count() + own2; // HOLE
  }
}
""",
}
CASES = {
    "typescript": (
        TYPESCRIPT,
        {
            *("src/shop.ts Item", "src/shop.ts Item.label", "src/shop.ts Item.kinds", "src/task.ts Special.extra"),
            *("src/shop.ts main", "src/shop.ts rate", "src/shop.ts LIMIT"),
        },
    ),
    "javascript": (JAVASCRIPT, {"lib/task.js local", "lib/util.js slugify", "lib/util.js SIZE"}),
    "go": (GO, {"store/item.go NewItem", "store/item.go Item", "task.go helper", "beside.go beside"}),
    "java": (
        JAVA,
        {
            *("src/com/shop/Task.java Task.own", "src/com/shop/Base.java Base.grow", "src/com/util/Maths.java Maths"),
            *("src/com/util/Maths.java Maths.round", "src/com/shop/Beside.java Beside"),
            "src/com/shop/Beside.java Beside.count",
        },
    ),
    "rust": (
        RUST,
        {
            *("src/store/mod.rs Item", "src/store/mod.rs Item.new", "src/store/mod.rs rate", "src/store/mod.rs MOST"),
            "src/task.rs helper",
        },
    ),
    "c": (C, {"inc/shop.h item", "src/shop.c rate", "src/task.c helper", "inc/shop.h MOST"}),
    "cpp": (CPP, {"shop.cpp Base.grow", "shop.hpp Item.size"}),
    "csharp": (CSHARP, {"Shop/Item.cs Item", "Shop/Item.cs Item.Count", "Task.cs Task.Helper", "Task.cs Task.own"}),
}


def resolve(files):
    path, text = next((path, text) for path, text in files.items() if MARK in text)
    marked = [at for at, line in enumerate(text.splitlines()) if MARK in line]
    return uses(files, path, marked[0], marked[-1] + 1)


def test_what_resolves_to_nothing_is_counted():
    # `z` and its member are another package's; `x` in `x.roundedTotal` has no type.
    assert resolve(TYPESCRIPT).without == {"third party": 2, "unresolved": 1, "dynamic": 1}


RULES = {
    "a member of what is declared in C": (
        {
            "item.h": "struct item {\n  int price;\n};\n",
            "task.c": '#include "item.h"\nint written(struct item *gift) {\n  return gift->price; // HOLE\n}\n',
        },
        {"item.h item.price"},
    ),
    "no member of a list or array of it": (
        {
            "Item.java": "public class Item { int total(int x) { return x; } }\n",
            "Task.java": "class Task {\n  void written(Item gift, List<Item> many, Item[] more) {\n"
            "    gift.total(1); many.total(1); more.total(1); unknown.total(); // HOLE\n  }\n}\n",
        },
        {"Item.java Item.total"},
    ),
    "what is included nearest is meant": (
        {
            "near.hpp": '#include "core.hpp"\nclass Term {\n  int x;\n};\n',
            "other.hpp": '#include "core.hpp"\n',
            "core.hpp": "namespace core {\nclass Term {\n  int y;\n};\n}\n",
            "task.cpp": '#include "other.hpp"\n#include "near.hpp"\nvoid written() {\n  Term made; // HOLE\n}\n',
        },
        {"near.hpp Term"},
    ),
    "std is the standard library": (
        {
            "all.hpp": "template <typename T> class unique_value {};\nint total_size(int x) { return x; }\n",
            "task.cpp": '#include "all.hpp"\nint written(int x) {\n'
            "  return std::unique_value<int>(x) + total_size(x); // HOLE\n}\n",
        },
        {"all.hpp total_size"},
    ),
    "a Rust type is its definition and no impl": (
        {
            "src/lib.rs": "pub mod item;\npub mod task;\n",
            "src/item.rs": "impl Clone for Item { }\n\n/// The thing.\npub struct Item { pub price: u32 }\n",
            "src/task.rs": "use crate::item::Item;\npub fn written(x: u32) -> Item {\n    Item { price: x } // HOLE\n}\n",
        },
        {"src/item.rs Item", "src/item.rs Item.price"},
    ),
    "what a macro is given is a row of names": (
        {
            "src/lib.rs": "pub mod item;\npub mod task;\n",
            "src/item.rs": "macro_rules! ok { ($e:expr) => { $e } }\npub struct Item { pub price: u32 }\n"
            "impl Item { pub fn total(&self) -> u32 { 1 } }\npub fn parse(x: u32) -> u32 { x }\n"
            "pub fn format(x: u32) -> u32 { x }\n",
            "src/task.rs": "use crate::item::{format, parse, Item};\n"
            "pub fn written(text: &str, gift: &Item) -> u32 {\n    ok!(text.parse::<u32>()); // HOLE\n"
            '    println!("{} {}", gift.total(), format!("x")); // HOLE\n    1\n}\n',
        },
        {"src/item.rs ok", "src/item.rs Item.total"},
    ),
    "one of several impl of a trait is no one's guess": (
        {
            "src/lib.rs": "pub mod item;\npub mod task;\n",
            "src/item.rs": "pub struct Item { }\nimpl From<u32> for Item { fn from(x: u32) -> Item { Item { } } }\n"
            "impl From<&str> for Item { fn from(x: &str) -> Item { Item { } } }\n",
            "src/task.rs": "use crate::item::Item;\npub fn written(x: u32) -> Item {\n    Item::from(x) // HOLE\n}\n",
        },
        {"src/item.rs Item"},
    ),
    "a class is not another of its name": (
        {
            "core.hpp": "namespace core {\nclass Variable {\n public:\n  int context() const { return 1; }\n};\n}\n",
            "types.hpp": "struct Variable {\n  int context;\n};\n",
            "task.cpp": '#include "core.hpp"\n#include "types.hpp"\nint written() {\n  core::Variable v;\n  return v.context(); // HOLE\n}\n',
        },
        {"core.hpp Variable.context"},
    ),
    "a CommonJS module gives names, or one thing, and what is required is defined elsewhere": (
        {
            "lib/names.js": "function slug(x) { return x; }\nconst made = () => 2;\n"
            "module.exports = { slugify: slug, kept: Symbol('kept'), made };\nmodule.exports.later = function () {};\n",
            "lib/agent.js": "class Base { close() { return 0; } }\nmodule.exports = class Agent extends Base {\n"
            "  open() { return 1; }\n};\n",
            "lib/pool.js": "class Pool {\n  size() { return 1; }\n}\nmodule.exports = Pool;\n",
            "lib/task.js": "const { slugify, kept, made, later } = require('./names');\n"
            "const Agent = require('./agent'), other = require('other');\n"
            "const { randomBytes } = require('node:crypto');\nconst Pool = require('./pool');\n"
            "const renamed = require('./names').made;\n"
            "function written(a) {\n  new Agent().open(); new Agent().close(); new Pool().size(); // HOLE\n"
            "  slugify(kept); made(); later(); renamed(); other(); randomBytes(a); // HOLE\n}\n",
        },
        {
            *("lib/agent.js Agent", "lib/agent.js Agent.open", "lib/agent.js Base.close"),
            *("lib/pool.js Pool", "lib/pool.js Pool.size"),
            *("lib/names.js slug", "lib/names.js made", "lib/names.js later"),
        },
    ),
    "super is never the class itself": (
        {
            "lib/dump.js": "const Base = require('base');\nclass Dump extends Base {\n  end() { return 1; }\n"
            "  written() {\n    return super.end() + this.start() // HOLE\n  }\n"
            "  start() {\n    return 1\n  }\n}\n"
        },
        {"lib/dump.js Dump.start"},
    ),
    "a class is not its constructor, and a package has a folder in each tree of sources": (
        {
            "src/main/java/a/b/View.java": "package a.b;\npublic class View {\n  View(int x) { }\n  void draw() { }\n}\n",
            "src/test/java/a/b/Task.java": "package a.b;\npublic class Task extends View {\n  Task() { super(1); }\n"
            "  void written(Object x) {\n    if (x instanceof View) { View v = new View(2); v.draw(); } // HOLE\n  }\n}\n",
            "src/test/java/a/c/View.java": "package a.c;\npublic class View {\n  void draw() { }\n}\n",
        },
        {"src/main/java/a/b/View.java View", "src/main/java/a/b/View.java View.draw"},
    ),
    "a type of another package is not one's own": (
        {
            "go.mod": "module example.org/shop\n",
            "item/item.go": "package item\n\ntype Request struct{ size int }\n\nfunc (r *Request) Total() int { return 1 }\n",
            "own.go": "package shop\n\ntype Request struct{ size int }\n\nfunc (r *Request) Total() int { return 1 }\n",
            "task.go": 'package shop\n\nimport (\n\t"net/http"\n\t"example.org/shop/item"\n)\n\n'
            "func written(a *http.Request, b *item.Request) int {\n\treturn a.Total() + b.Total() // HOLE\n}\n",
        },
        {"item/item.go Request.Total"},
    ),
    "what a function declares this to be": (
        {
            "src/core.ts": "export class Core {\n  rules: string[] = [];\n  add() { return 1; }\n}\n",
            "src/task.ts": 'import { Core } from "./core";\nfunction written(this: Core, x: number) {\n'
            "  const { rules } = this; this.add(); // HOLE\n}\n",
        },
        {"src/core.ts Core.rules", "src/core.ts Core.add"},
    ),
    "another crate of the workspace": (
        {
            "crates/my-store/src/lib.rs": "mod item;\npub use item::rate;\n",
            "crates/my-store/src/item.rs": "pub fn rate(x: u32) -> u32 { x }\n",
            "crates/app/src/main.rs": "use my_store::rate;\nuse serde::rate as other;\n"
            "fn written(x: u32) -> u32 {\n    rate(x) + other(x) // HOLE\n}\n",
        },
        {"crates/my-store/src/item.rs rate"},
    ),
    # `baseUrl` allows it; a package of that form, of which no file is here, stays third party.
    "a script by its path from the outermost folder": (
        {
            "src/shop/index.ts": "export function rate(x: number) {\n  return x;\n}\n",
            "src/task.ts": 'import { rate } from "src/shop";\nimport { z } from "zod/v4";\n'
            "function written(x: number) {\n  return z.array(rate(x)); // HOLE\n}\n",
        },
        {"src/shop/index.ts rate"},
        {"third party": 2},
    ),
    "a declaration beside a script is no other definition": (
        {
            "pool.d.ts": "export declare class Pool { size(): number }\nexport interface Options { maxItems: number }\n",
            "pool.js": "class Pool {\n  size() { return 1; }\n}\nmodule.exports = { Pool };\n",
            "task.js": 'const { Pool } = require("./pool");\nfunction written(opts) {\n'
            "  return new Pool().size() + opts.maxItems; // HOLE\n}\n",
        },
        {"pool.js Pool", "pool.js Pool.size"},
    ),
    "what is of a type from outside is not here": (
        {
            "a/Glyph.java": "package a;\npublic class Glyph {\n  int totalWidth() { return 1; }\n}\n",
            "b/Task.java": "package b;\nimport android.Bitmap;\npublic class Task {\n"
            "  int written(Bitmap x) {\n    return x.totalWidth() + totalWidth(); // HOLE\n  }\n}\n",
        },
        set(),
        {"third party": 1, "unresolved": 1},
    ),
}
"""Files -> what is used in the end, and the counts of names without a definition where they matter."""


EVERY = {**CASES, **RULES}


@pytest.mark.parametrize("case", EVERY)
def test_what_a_name_is_led_to(case):
    files, expected, *without = EVERY[case]
    result = resolve(files)
    assert {f"{item.definition.file[2:]} {item.definition.name}" for item in result.used} == expected
    assert without in ([], [result.without])
    for element in result.used:
        header = files[element.definition.file[2:]].split("\n")[element.definition.lines.start]
        assert element.definition.kind != "class" or not header.startswith("impl")


OF_OUTSIDE = {
    "Task.cs": (
        "static class Util {\n    internal static void WriteIntPtr(int a) { a++; }\n}\n"
        "class M {\n    void F(int p) {\n        Marshal.WriteIntPtr(p); // HOLE\n    }\n}\n"
    ),
    "task.go": (
        'package p\nimport "github.com/x/go-retryablehttp"\nfunc (c Client) NewRequest() {}\n'
        "func written() {\n\tretryablehttp.NewRequest() // HOLE\n}\n"
    ),
}


@pytest.mark.parametrize(("path", "text"), OF_OUTSIDE.items(), ids=OF_OUTSIDE)
def test_what_a_package_from_outside_has_is_not_the_definition_of_that_name_here(path, text):
    result = resolve({path: text})
    assert result.used == ()
    assert result.without["third party"] >= 1


MIXED = {
    "a/gen.go": "package a\n\nfunc written(x int) int {\n\tvar r Rest\n\treturn count(x) + total(r) // HOLE\n}\n",
    "a/Task.java": "package a;\npublic class Task {\n  int written(int x) {\n    return count(x) + new Rest().y; // HOLE\n  }\n}\n",
    "a/Use.cs": "class Use {\n  int Written(int x) {\n    return count(x) + new Rest().y; // HOLE\n  }\n}\n",
    "a/lib.ts": "export function count(x: number) { return x; }\nexport class Rest { y = 1; }\n",
    "a/rest.rs": "pub struct Rest { y: u32 }\npub fn total(x: u32) -> u32 { x }\n",
    "a/task.ts": 'import { count, Rest } from "./lib";\nfunction written(x: number) {\n'
    "  return count(x) + new Rest().y; // HOLE\n}\n",
}


@pytest.mark.parametrize("paths", [sorted(MIXED), sorted(MIXED, reverse=True)])
def test_files_of_other_languages_beside_a_file_are_not_its_own(paths):
    """Nor does what was asked before change an answer."""
    result = {}
    with Resolver(sources({path: MIXED[path] for path in paths})) as resolver:
        for path in paths:
            marked = [number for number, line in enumerate(MIXED[path].split("\n")) if "HOLE" in line]
            used = resolver.uses(path, LineSpan(marked[0], marked[-1] + 1)).used if marked else ()
            result[path] = {use.definition.name for use in used}
    assert result.pop("a/task.ts") == {"count", "Rest", "Rest.y"}
    assert not any(result.values())
