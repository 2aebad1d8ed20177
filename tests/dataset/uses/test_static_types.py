"""Languages whose types are written down: what is looked up in a value is a member of its type."""

import pytest

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.uses.resolver import Resolver

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
    "what a function gives": ("x := NewItem(1); x.Price", "NewItem Item.Price"),
    "one of several results": ("o, err := item.Owner(); o.First(); err.Error()", "Item.Owner Basket.First"),
    "a named result": ("b.First().Price", "Basket.First Item.Price"),
    "a pointer, a literal": ("x := &Item{Weight: 1}; x.Weight; new(Item).Price", "Item Item.Weight Item.Price"),
    "an embedded struct": ("item.Grow(1).depth", "Base.Grow Base.depth"),
    "an embedded interface": ("looks.Look().Price", "Seen.Look Item.Price"),
    "from outside": ("item.Client.Do(nil); item.Client.Price", "Base.Client"),
    "a generic receiver": ("x := Box[int]{}; x.Open(); x.inner", "Box Box.Open Box.inner"),
    "a loop": ("for _, p := range item.Parts { p.Price }", "Item.Parts Item.Price"),
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
    "keys that are no members": ("x := map[string]Item{name: {Price: 1}}", "Item Item.Price"),
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


def used(files, path, first, last):
    sources = [SourceFile("r", name, content) for name, content in files.items()]
    with Resolver(sources, jedi=False) as resolver:
        found = resolver.uses(path, LineSpan(first, last))
    return {each.definition.name for each in found.used if each.tier != "unique"}


@pytest.mark.parametrize("case", GO)
def test_go(case):
    body, expected = GO[case]
    head = "package shop\n\nfunc written(item *Item, b *Basket, looks Looks, any interface{}, name string) {\n"
    assert used({"shop.go": GO_SHOP, "task.go": f"{head}\t{body}\n}}\n"}, "task.go", 3, 4) == set(expected.split())
