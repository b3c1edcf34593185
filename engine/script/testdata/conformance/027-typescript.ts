// feature: TypeScript without a build step
// group: language
import { probe } from './check.js';
import type { Nothing } from './types-only';
enum Color { Red = 1, Green, Blue = 'b' as unknown as number }
const enum Small { One = 1 }
namespace Space { export const inside = 5; }
interface Named { name: string; readonly age?: number }
abstract class Base<T extends object> {
  constructor(protected readonly value: T, public extra = 2) {}
  abstract text(): string;
}
class Impl extends Base<Named> implements Named {
  name!: string;
  declare ghost: Nothing;
  override text(): string { return `${this.value.name}${this.extra}`; }
}
function over(x: string): string;
function over(x: number): number;
function over(x: unknown): unknown { return x; }

export default probe(({ is }) => {
  const o = { name: 'n', kind: 'k' } satisfies Named & { kind: string };
  is(new Impl(o).text(), 'n2');
  is([Color.Red, Color[2], Small.One, Space.inside], [1, 'Green', 1, 5]);
  is([over(1) as number, (o as unknown as Named)!.name, <number>over(2)], [1, 'n', 2]);
  const pick = <K extends keyof typeof o>(k: K): (typeof o)[K] => o[k];
  is(pick('kind'), 'k');
});
