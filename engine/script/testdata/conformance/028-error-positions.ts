// feature: stacks that name the original file and line
// group: language
import { probe } from './check.js';
type Deep = { a: {
  b: number,
} };

function fail(x: Deep): never {
  throw new Error('x' + x.a.b);
}

export default probe(({ is, ok }) => {
  let stack = '';
  try { fail({ a: { b: 1 } }); } catch (e) { stack = (e as Error).stack!; }
  is(/error-positions\.ts:9:\d+/.test(stack), true, stack);
  ok(stack.includes('fail'), 'the function is named');
});
