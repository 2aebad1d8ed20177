"""Types of TypeScript and JavaScript: what a member means, by what is declared and where it is."""

import pytest

from support.written import names, uses

SHOP = """\
export interface Named { label: string; }
export interface Price<T = Coin> extends Named { coin: T; cents(): number; }
export class Coin { weight = 1; static mint(): Coin { return new Coin(); } }
export class Purse<D extends Options = Options> {
  options: D;
  coins: Coin[] = [];
  constructor(options: D) { this.options = options; }
  count(at: number): number;
  count(at: string): number;
  count(at: any): number { return 1; }
  get first() { return this.coins[0]; }
  async pay(): Promise<Price> { return null as any; }
}
export interface Options { size: number; inner: Inner; each?: (coin: Coin) => Inner; }
export interface Inner { depth: number; }
export class Big extends Purse<BigOptions> { }
export interface BigOptions extends Options { extra: string; }
export type Either = { left: Coin } | { right: Coin };
export type Loose<T> = { [k in keyof T]?: T[k] };
export type Maker<T extends Purse> = { new (options: T["options"]): T };
export function open(options: Options, loose?: Loose<Inner>): Purse { return null as any; }
export const table: Record<string, Coin> = {};
export class Drawer extends Purse<Options> {
  get lock() { return this.coins[0]; }
  set lock(x: Coin) { }
  *all(): IterableIterator<Coin> { }
  next: Drawer | null = null;
}
export class Till { constructor(private drawer: Drawer, readonly label: string, plain?: Coin) { } }
export namespace Purse { export const made: Inner = null as any; export interface Kept { way: Coin } }
export namespace Drawer { export const made: Coin = null as any; export interface Kept { way: Inner } }
export namespace tools { export function sharpen(x: number): Coin { return null as any; } }
function hidden() { return { secret: 1 }; }
export { hidden as shown };
export default class Chest extends Purse { lid = 1; }
"""
HEAD = """\
import Box, { Big, Coin, Drawer, Purse, Till, open, shown, table, tools } from "./index";
import type { Either, Inner, Loose, Maker, Options, Price } from "./index";
import * as shop from "./shop";
"""
CASES = {
    "a parameter": ("(p: Price) => p.label", "Price Named.label"),
    "of a type argument": ("(p: Price<Coin>) => p.coin.weight", "Price Coin Price.coin Coin.weight"),
    "of a default": ("(p: Price) => p.coin.weight", "Price Price.coin Coin.weight"),
    "of a base": ("(b: Big) => b.coins", "Big Purse.coins"),
    "of a base's argument": ("(b: Big) => b.options.extra", "Big Purse.options BigOptions.extra"),
    "an overload": ("(p: Purse) => p.count(1)", "Purse Purse.count"),
    "a getter": ("(p: Purse) => p.first.weight", "Purse Purse.first Coin.weight"),
    "what is awaited": ("async (p: Purse) => (await p.pay()).label", "Purse Purse.pay Named.label"),
    "an element": ("(p: Purse) => p.coins[0].weight + p.coins.find(f)!.weight", "Purse Purse.coins Coin.weight"),
    "a value": ("() => table[0].weight", "table Coin.weight"),
    "a callback": ("(p: Purse) => p.coins.map((c) => c.weight)", "Purse Purse.coins Coin.weight"),
    "what is made": ("() => new Purse(x).coins", "Purse Purse.coins"),
    "what is made by a signature": ("(M: Maker<Big>) => new M({ extra: 1 }).coins", "Maker Big BigOptions.extra Purse.coins"),
    "a static member": ("() => Coin.mint().weight", "Coin Coin.mint Coin.weight"),
    "a cast": ("() => (x as Coin).weight + (<any>x as unknown as Inner).depth", "Coin Coin.weight Inner Inner.depth"),
    "a literal that satisfies": ("() => ({ size: 1 } satisfies Options).size", "Options Options.size"),
    "destructured": ("({ coins, options: { size } }: Purse) => coins[0].weight + size",
                     "Purse Purse.coins Purse.options Options.size Coin.weight"),
    "of each": ("(p: Purse) => { for (const c of p.coins) c.weight }", "Purse Purse.coins Coin.weight"),
    "an instance": ("(x: any) => x instanceof Coin ? x.weight : 0", "Coin Coin.weight"),
    "an instance only where it is one": ("(x: any) => x instanceof Coin ? 0 : x.weight", "Coin"),
    "a key of a declared literal": ("() => { const o: Options = { size: 1, inner: { depth: 2 } } }",
                                    "Options Options.size Options.inner Inner.depth"),
    "a key of an argument": ("(size: any) => open({ size, inner: { depth: 1 } })",
                             "open Options.size Options.inner Inner.depth"),
    "a key of what is returned": ("(): Inner => { return { depth: 1 } }", "Inner Inner.depth"),
    "a key of what a constructor takes": ("() => new Big({ extra: '' })", "Big BigOptions.extra"),
    "a key of a mapped type": ("() => open(x, { depth: 1 })", "open Inner.depth"),
    "a callback in a literal": ("() => open({ each: (c) => ({ depth: c.weight }) })",
                                "open Options.each Inner.depth Coin.weight"),
    "a key of a promise": ("async (): Promise<Inner> => ({ depth: 1 })", "Inner Inner.depth"),
    "a namespace": ("() => tools.sharpen(1).weight", "tools.sharpen Coin.weight"),
    "a namespace and a class of one name": ("(k: Drawer.Kept) => Drawer.made.weight + k.way.depth",
                                            "Drawer made Coin.weight Kept Kept.way Inner.depth"),
    "an iterator": ("(d: Drawer) => { for (const c of d.all()) c.weight }", "Drawer Drawer.all Coin.weight"),
    "what a loop declares": ("(d: Drawer) => { for (let at: Drawer | null = d; at; at = at.next) at.lock }",
                             "Drawer Drawer.next Drawer.lock"),
    "a member that a constructor's parameter declares": (
        "(t: Till) => t.drawer.lock + t.label + t.plain.weight", "Till Drawer.lock"
    ),
    "a collection that is made": ("() => { const m = new Map<string, Coin>(); m.get('')!.weight }", "Coin Coin.weight"),
    "what is set in one": ("() => { const all = new Array<Inner>(2); all[0] = { depth: 1 } }", "Inner Inner.depth"),
    "not null behind a sign": ("(d: Drawer) => 1 - d.next!.coins[0].weight - d.next!.options.size",
                               "Drawer Drawer.next Purse.coins Coin.weight Purse.options Options.size"),
    "an export by another name": ("() => shown()", "hidden"),
    "unknown": ("(x: any, y: Missing) => x.label + y.label + z.label", ""),
    "may be several": ("(e: Purse | Box) => e.lid + ({ left: 1 } as any).left", "Purse Chest Chest.lid"),
    "a local of that name": ("() => { const weight = 1; return weight }", ""),
}  # fmt: skip


def used(code, name="task.ts"):
    text = f"{HEAD}function written(): void {{\n  const f: any = {code}; // HOLE\n}}\n"
    files = {"shop.ts": SHOP, "index.ts": 'export * from "./shop";\nexport { default } from "./shop";\n', name: text}
    return names(uses(files, name, 4, 5))


@pytest.mark.parametrize("case", CASES)
def test_what_a_name_means(case):
    code, expected = CASES[case]
    expected = {"sharpen" if name == "tools.sharpen" else name for name in expected.split()}
    assert used(code) == expected


def test_types_that_lead_in_circles_end():
    """Nothing is known of them, and asking takes no time."""
    loop = "type A = B['x']; type B = A['x'] | { x: A }; interface C extends D {} interface D extends C {}\n"
    text = f"{loop}function f(a: A, c: C) {{\n  a.x.x.x.y; c.z.z; const g = () => g().h; // HOLE\n}}\n"
    assert uses({"a.ts": text}, "a.ts", 2, 3) is not None


def test_a_line_that_is_nested_as_deeply_as_it_is_long_is_read_by_name():
    files = {"a.ts": "export const far = 1\n", "b.ts": 'import {far} from "./a"\nx = far' + ".y()" * 600 + "\n"}
    result = uses(files, "b.ts", 1, 2)
    assert result.names == 602
    assert names(result) == {"far"}


def test_a_var_of_the_module_has_its_type():
    files = {"a.ts": "interface Box { lid: number }\ndeclare var box: Box;\nfunction f() {\n  return box.lid;\n}\n"}
    assert names(uses(files, "a.ts", 3, 4)) == {"box", "Box.lid"}
