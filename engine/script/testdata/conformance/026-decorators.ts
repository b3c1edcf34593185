// feature: decorators
// group: language
import { probe } from './check.js';
function logged<T extends (...args: never[]) => unknown>(f: T, context: ClassMethodDecoratorContext): T {
  return function (this: unknown, ...args: never[]) { return context.name.toString() + ':' + f.apply(this, args); } as unknown as T;
}
const classes: string[] = [];
function register(c: unknown, context: ClassDecoratorContext): void { classes.push(String(context.name)); }
function twice(_: undefined, context: ClassFieldDecoratorContext) { return (v: number) => v * 2; }

@register
class A {
  @twice n = 4;
  @logged run(x: string) { return x + this.n; }
}

export default probe(({ is }) => {
  is(new A().run('a'), 'run:a8');
  is(classes, ['A']);
});
