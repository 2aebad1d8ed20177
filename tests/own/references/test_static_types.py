"""Languages whose types are written down: what is looked up in a value is a member of its type."""

import pytest

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.resolver import Resolver
from support.written import names, sources, uses

GO_SHOP = """\
package shop

import "net/http"

type Base struct {
	Client http.Client
	depth  int
}

func (b *Base) Grow(by int) *Base { return b }

type Item struct {
	*Base
	Price, Weight int
	Parts         []Item
	ByName        map[string]*Basket
	Total         func() Basket
}

func (i *Item) Owner() (*Basket, error) { return nil, nil }

type Basket struct{ Items Items }

func (b Basket) First() (found *Item) { return found }

type Items []Item

func (i Items) Sorted() Items { return i }

type Seen interface{ Look() *Item }

type Looks interface {
	Seen
	Other()
}

type Box[T any] struct{ inner T }

func (b *Box[T]) Open() int { return 1 }

func NewItem(price int) *Item { return &Item{Price: price} }

var shelf = []Item{{Price: 1}}
"""
GO = {
    "one of several results": ("o, err := item.Owner(); o.First(); err.Error()", "Item.Owner Basket.First"),
    "a named result": ("b.First().Price", "Basket.First Item.Price"),
    "a pointer, a literal": ("x := &Item{Weight: 1}; x.Weight; new(Item).Price", "Item Item.Weight Item.Price"),
    "an embedded struct": ("item.Grow(1).depth", "Base.Grow Base.depth"),
    "an embedded struct by its name": ("item.Base.depth; item.Base.Grow(1).depth", "Base.Grow Base.depth"),
    "an embedded interface": ("looks.Look().Price", "Seen.Look Item.Price"),
    "from outside": ("item.Client.Do(nil); item.Client.Price", "Base.Client"),
    "a generic receiver": ("x := Box[int]{}; x.Open(); x.inner", "Box Box.Open Box.inner"),
    "a named slice": (
        "b.Items[0].Price; for _, p := range b.Items.Sorted() { p.Weight }",
        "Basket.Items Item.Price Items.Sorted Item.Weight",
    ),
    "a map": ("if f, ok := item.ByName[name]; ok { f.First() }", "Item.ByName Basket.First"),
    "a type switch": (
        "switch t := any.(type) { case *Item: t.Price; case Basket: t.Items }",
        "Item Item.Price Basket Basket.Items",
    ),
    "an assertion": ("any.(*Item).Price", "Item Item.Price"),
    "a literal in a literal": (
        "x := []*Item{{Price: 1, Parts: []Item{{Weight: 2}}}}",
        "Item Item.Price Item.Parts Item.Weight",
    ),
    "keys that are not members": ("x := map[string]Item{name: {Price: 1}}", "Item Item.Price"),
    "a function in a field": ("item.Total().Items", "Item.Total Basket.Items"),
    "a function in a variable": (
        "f := func(i *Item) *Basket { return nil }; f(item).Items",
        "Item Basket Basket.Items",
    ),
    "a variable of the package": (
        "shelf[0].Price; for _, s := range shelf { s.Weight }",
        "shelf Item.Price Item.Weight",
    ),
    "the nearest of a name": ("item := Basket{}; item.Items; { item := 1; item.Price }", "Basket Basket.Items"),
}


@pytest.mark.parametrize("case", GO)
def test_go(case):
    body, expected = GO[case]
    head = "package shop\n\nfunc written(item *Item, b *Basket, looks Looks, any interface{}, name string) {\n"
    assert names(uses({"shop.go": GO_SHOP, "task.go": f"{head}\t{body}\n}}\n"}, "task.go", 3, 4)) == set(
        expected.split()
    )


CPP_SHOP = """\
#include <memory>
#include <vector>
namespace core {
struct Base {
  int depth;
  Base *up() { return this; }
};
class Item : public Base {
 public:
  enum Kind { Small, Large };
  int price;
  std::vector<Item *> parts;
  std::unique_ptr<Base> owned;
  Kind kind() const { return Small; }
};
template <class T> class Handle {
 public:
  T *operator->() const { return p; }
  T *p;
};
struct Basket {
  Handle<Item> first;
  Item *made(int x);
};
typedef Handle<Item> ItemHandle;
using Alias = Item;
Basket make(int x);
struct self_t { int own; };
}
namespace Both { int far(); }
struct Both { static bool Ready(); };
"""
CPP = {
    "what a function gives": ("auto b = core::make(1); b.made(2)->price;", "make Basket.made Item.price"),
    "elements": ("for (auto *p : item.parts) p->price; item.parts[0]->depth;", "Item.parts Item.price Base.depth"),
    "smart pointers": (
        "item.owned->depth; auto q = std::make_unique<Item>(); q->price;",
        "Item.owned Base.depth Item Item.price",
    ),
    "another's pointer": ("basket.first->price; ItemHandle h; h->price;", "Basket.first Item.price ItemHandle"),
    "another name": ("Alias a; a.price;", "Alias Item.price"),
    "casts": ("static_cast<Item *>(any)->price; ((Basket *)any)->first;", "Item Item.price Basket Basket.first"),
    "what an enumeration lists": ("item.kind() == Item::Large;", "Item.kind Item Item.Kind.Large"),
    "a class and a namespace": ("Both::Ready(); Both::far();", "Both Both.Ready far"),
    "a variable called self": ("core::self_t self; self.own;", "self_t self_t.own"),
    "from outside": ("item.parts.size(); std::string s; s.price;", "Item.parts"),
}
RUST_SHOP = """\
pub struct Item { pub price: u32, pub owner: Option<Box<Basket>>, pub parts: Vec<Item> }
impl Item {
    pub fn new(price: u32) -> Self { todo!() }
    pub fn checked(&self) -> Result<&Item, Fault> { todo!() }
}
pub struct Basket { pub items: Vec<Item>, pub first: Item }
impl Basket {
    pub fn find(&self, x: u32) -> Option<&Item> { None }
}
pub struct Fault { pub code: u32 }
pub enum Shape { Round(Item), Square { item: Item } }
pub trait Seen { fn look(&self) -> Item; }
impl Seen for Basket { fn look(&self) -> Item { todo!() } }
impl Basket { pub fn look(&self) -> &Basket { self } }
pub use Shape::Round;
pub enum Kind { None, Some }
mod test { use super::super::Basket; }
"""
RUST = {
    "inside an option": ("item.owner.unwrap().first.price;", "Item.owner Basket.first Item.price"),
    "a result and ?": ("item.checked()?.price;", "Item.checked Item.price"),
    "if let": ("if let Some(y) = basket.find(1) { y.price; }", "Basket.find Item.price"),
    "a loop": (
        "for p in basket.items.iter() { p.price; } for p in &item.parts { p.owner; }",
        "Basket.items Item.price Item.parts Item.owner",
    ),
    "an index": ("basket.items[0].price;", "Basket.items Item.price"),
    "a trait": ("seen.look().price;", "Seen.look Item.price"),
    "a pattern of a struct": (
        "let Basket { first, items: all } = basket; first.price;",
        "Basket Basket.first Basket.items Item.price",
    ),
    "a closure": ("let f = |i: &Item| i.price;", "Item Item.price"),
    "a type's own before a trait's": ("basket.look().first;", "Basket.look Basket.first"),
    "variants": ("Round(1); Shape::Square { item };", "Shape Shape.Round Shape.Square"),
    "no variants of what is seen": ("match 1 { None => 1 }", ""),
    "a call before a local has its name": ("let helped = helped(item);", "helped"),
    "an impl elsewhere": ("item.doubled().price;", "Item.doubled Item.price"),
    "a type in brackets": ("<Item>::new(1).price;", "Item Item.new Item.price"),
    "from outside": ("let n = text.len(); text.price;", ""),
}
JAVA_SHOP = {
    "shop/Item.java": "package shop;\npublic class Item extends Base {\n  int price; List<Item> parts;\n"
    "  Item part(int at) { return parts.get(at); }\n  Item part(int at, int by) { return null; }\n"
    "  static Item made() { return null; }\n  void told(int by, int how) { }\n}\n",
    "shop/Base.java": "package shop;\npublic class Base {\n  Basket owner() { return null; }\n  void told(int by) { }\n}\n",
    "shop/far/Part.java": "package shop.far;\npublic class Part {\n  int way;\n}\n",
    "shop/Outer.java": "package shop;\nclass Outer {\n  enum Kind { SMALL }\n  static class Part { }\n}\n",
    "shop/Basket.java": "package shop;\nimport java.util.List;\npublic record Basket(Item first, int count) {\n"
    "  Item pick() { return first; }\n}\n",
}
JAVA = {
    "of this": ("this.own.owner();", "Task.In.own Base.owner"),
    "var, loop, index": (
        "var x = item.part(1); for (var p : x.parts) { p.price; } many[0].price;",
        "Item.part Item.parts Item.price",
    ),
    "instanceof": ("if (any instanceof Item gift) { gift.price; }", "Item Item.price"),
    "a cast": ("((Item) any).price;", "Item Item.price"),
    "what a base is of is not a base": ("shelf.price; shelf.Kind;", ""),
    "what a base is in is not a base": ("Kind.SMALL;", "Task.Kind Task.Kind.SMALL"),
    "a collection": ("item.parts.get(0).price;", "Item.parts Item.price"),
    "a class in the class that is named": (
        "Outer.Kind kind = null; new Outer.Part(); new Shelf.Part();",
        "Outer Outer.Kind Outer.Part Task.Shelf",
    ),
    "a class whose package is named": ("shop.far.Part p = null; p.way;", "Part Part.way"),
    "what a switch is over": ("Outer.Kind k = null; switch (k) { case SMALL: }", "Outer Outer.Kind Outer.Kind.SMALL"),
    "a constant that is not of an enumeration": ("switch (item.price) { case MOST: }", "Item.price Task.MOST"),
    "a base's method of that name": ("item.told(1);", "Base.told"),
    "a method beside a local of its name": ("int own = own(1);", "Task.In.own"),
}
CSHARP_SHOP = {
    "Item.cs": "public partial class Item : Base {\n  public int Price; public List<Item> Parts { get; set; }\n"
    "  public void Put(int x, int y = 0) { }\n  public void All(params int[] x) { }\n}\n",
    "More.cs": "public partial class Item {\n  public Item Part(int at) { return null; }\n"
    "  public void Told(int x) { }\n}\n",
    "Base.cs": "public class Base {\n  public Basket Owner => null;\n  public Basket Owned() { return null; }\n"
    "  public void Told(int x, int y) { }\n  public void Put(int x) { }\n  public void All(int x, int y) { }\n}\n",
    "Basket.cs": "public class Basket {\n  public Item First; public static Basket Made() { return null; }\n}\n",
}
CSHARP = {
    "another part": ("item.Part(1).Price;", "Item.Part Item.Price"),
    "a base's property": (
        "var x = item.Owner.First.Price; var y = item.Owned().First;",
        "Base.Owner Base.Owned Basket.First Item.Price",
    ),
    "var, foreach": (
        "var x = Basket.Made(); foreach (var p in x.First.Parts) { f(p.Price); }",
        "Basket Basket.Made Basket.First Item.Parts Item.Price",
    ),
    "a pattern, a cast": (
        "if (any is Item i) { f(i.Price); } f(((Basket)any).First); f((any as Basket).First);",
        "Item Item.Price Basket Basket.First",
    ),
    "what is made": ("var y = new Item { Price = 1 }; y.Part(2);", "Item Item.Price Item.Part"),
    "a base's method of that name": ("item.Told(1, 2);", "Base.Told"),
    "an own one before a base's, by a default or params": ("item.Put(1); item.All(1, 2);", "Item.Put Item.All"),
}
LANGUAGES = [
    (
        *(CPP, {"shop.hpp": CPP_SHOP}, "task.cpp"),
        '#include "shop.hpp"\nusing namespace core;\nvoid written(const Item &item, Basket &basket, void *any) {\n',
    ),
    (
        *(RUST, {"src/shop.rs": RUST_SHOP, "src/lib.rs": "pub mod shop;\npub mod task;\n"}, "src/task.rs"),
        "use crate::shop::*;\nfn helped(x: &Item) -> u32 { 1 }\nimpl Item { fn doubled(&self) -> Item { todo!() } }\n"
        "fn written(item: &Item, basket: Basket, seen: &dyn Seen, text: String) -> Result<(), Fault> {\n",
    ),
    (
        *(JAVA, JAVA_SHOP, "shop/Task.java"),
        "package shop;\nclass Task {\n  static final int MOST = 1;\n  enum Kind { SMALL }\n"
        "  class Shelf extends java.util.ArrayList<Item> { }\n  class In extends Outer.Part {\n  Item own;\n"
        "  int own(int x) { return x; }\n  void written(Item item, Item[] many, Object any, Shelf shelf) {\n",
    ),
    (CSHARP, CSHARP_SHOP, "Task.cs", "class Task {\n  void Written(Item item, object any) {\n"),
]
OTHERS = {
    f"{path} {case}": (shop, path, head, *of) for cases, shop, path, head in LANGUAGES for case, of in cases.items()
}


def test_java_tells_fields_methods_and_their_overloads_apart():
    """By what is called, and with how many arguments, on `this` or on another."""
    text = (
        "class Task {\n  Task size;\n  Task size() { return null; }\n  Task size(int by) { return null; }\n"
        "  void written(Task own) {\n    {}\n  }\n}\n"
    )
    for code, line in (("size", 1), ("size()", 2), ("size(1)", 3)):
        for at in ("", "own.", "this."):
            (result,) = uses({"Task.java": text.replace("{}", f"f({at}{code});")}, "Task.java", 5, 6).used
            assert (result.definition.name, result.definition.lines.start) == ("Task.size", line)


def test_java_imports_members_by_the_class_that_has_them():
    tool = "package a;\npublic class Tool extends Base {\n  static int sum(int x) { return x; }\n"
    tool += "  enum Way { LEFT }\n}\n"
    files = {
        "a/Tool.java": tool,
        "a/Base.java": "package a;\nclass Base {\n  static int most() { return 1; }\n}\n",
        "a/Other.java": "package a;\nclass Other {\n  static int sum(int x) { return x; }\n}\n",
        "b/Task.java": "package b;\nimport static a.Tool.sum;\nimport static a.Tool.most;\n"
        "import static a.Tool.Way.LEFT;\nimport a.Tool.Way;\nclass Task {\n  void written() {\n"
        "    int sum = sum(most()); Way w = LEFT;\n  }\n}\n",
    }
    assert names(uses(files, "b/Task.java", 7, 8)) == {"Tool.sum", "Base.most", "Tool.Way", "Tool.Way.LEFT"}


@pytest.mark.parametrize(("shop", "path", "head", "body", "expected"), OTHERS.values(), ids=OTHERS)
def test_others(shop, path, head, body, expected):
    line = head.count("\n")
    end = "}" * (head.count("{") - head.count("}")) + "\n"
    assert names(uses({**shop, path: f"{head}    {body}\n{end}"}, path, line, line + 1)) == set(expected.split())


def test_a_local_is_found_above_any_number_of_blocks():
    head = "package shop\n\nfunc written() {\n\tx := NewItem(1)\n"
    for deep in (10, 400):
        text = head + "{\n" * deep + "\tx.Price\n" + "}\n" * deep + "}\n"
        line = text.split("\n").index("\tx.Price")
        assert names(uses({"shop.go": GO_SHOP, "task.go": text}, "task.go", line, line + 1)) == {"Item.Price"}


ELSEWHERE = {
    "a crate": (
        "src/lib.rs",
        "pub struct Error { code: i32 }\nimpl Error { pub fn classify(&self) -> i32 { self.code } }\n"
        "fn f(found: serde_json::Error, own: crate::Error) {\n{}\n}\n",
        "found.classify();",
        "own.classify();",
        "Error.classify",
    ),
    "a package with its version": (
        "a/a.go",
        'package a\nimport "gopkg.in/yaml.v3"\ntype Node struct { Kind int }\n'
        "func (n *Node) Walk() int { return 1 }\nfunc f(found *yaml.Node, own *Node) {\n{}\n}\n",
        "found.Walk()",
        "own.Walk()",
        "Node.Walk",
    ),
    "a package of the same name": (
        "errors.go",
        'package errors\nimport "github.com/pkg/errors"\nfunc New() int { return 1 }\nfunc f() {\n{}\n}\n',
        "errors.New()",
        "New()",
        "New",
    ),
    "a class of a class": (
        "src/a/T.java",
        "package a;\nimport java.util.*;\nclass Entry { int getKey() { return 1; } }\n"
        "class T { void f(Map.Entry found, a.Entry other, Entry own) {\n{}\n} }\nclass E { Entry own; }\n",
        "found.getKey();",
        "own.getKey();",
        "Entry.getKey",
    ),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_type_of_elsewhere_is_not_the_one_of_its_name_here(case):
    """What it is looked up in is none of these files; the type here is found by its own name."""
    path, text, foreign, own, method = ELSEWHERE[case]
    at = text[: text.index("{}")].count("\n")
    for line, expected in ((foreign, set()), (own, {method})):
        assert names(uses({path: text.replace("{}", line)}, path, at, at + 1)) == expected


def test_what_was_asked_before_changes_nothing():
    """A task's gold is the same alone and after another one in its function."""
    steps = "".join(f"\tx{n + 1} := x{n}.Grow(1)\n" for n in range(12))
    text = f"package shop\n\nfunc written(x0 *Item) {{\n{steps}\tx12.depth\n}}\n"
    files = {"shop.go": GO_SHOP, "task.go": text}
    with Resolver(sources(files)) as resolver:
        assert resolver.uses("task.go", LineSpan(3, 15)).used
        assert resolver.uses("task.go", LineSpan(15, 16)) == uses(files, "task.go", 15, 16)


def test_a_type_of_a_module_of_rust_is_found_there():
    """By the module's name in this file, or from the crate's beginning."""
    shapes = "pub struct Round { r: i32 }\nimpl Round {\n    pub fn turn(&self) -> i32 { 1 }\n"
    shapes += "    pub fn make() -> Round { Round { r: 1 } }\n}\n"
    text = "mod shapes;\nstruct Round { own: i32 }\nfn f(a: shapes::Round, b: crate::shapes::Round) {\n{}\n}\n"
    call = "let c = shapes::Round::make();"
    for line, expected in (("a.turn();", "turn"), ("b.turn();", "turn"), (call, "make Round")):
        method, *types = expected.split()
        files = {"src/lib.rs": text.replace("{}", line), "src/shapes.rs": shapes}
        assert names(uses(files, "src/lib.rs", 3, 4)) == {f"Round.{method}", *types}
