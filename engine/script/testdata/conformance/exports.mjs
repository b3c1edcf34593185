export const a = 1;
const two = 2;
export { two as renamed };
export function f() { return 3; }
export class C { x = 4; }
export let counter = 0;
export const increase = () => { counter++; };
export default 'default';
export { probe } from './check.js';
