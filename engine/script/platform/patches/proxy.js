// The engine passes a part of its stack as the list of arguments to the traps apply and construct. If a trap keeps the
// list, it changes later. These proxies of functions pass a copy.
const Original = Proxy;
const lists = { apply: 2, construct: 1 };
const isFunction = (v) => typeof v === 'function';
const isObject = (v) => typeof v === 'object' && v !== null || isFunction(v);

// copying returns a handler with the traps of another one. It looks a trap up when it is needed, as a proxy does.
function copying(handler) {
  return new Original(handler, {
    get(target, name) {
      const trap = Reflect.get(target, name);
      if (!isFunction(trap)) return trap;
      const at = lists[name];
      return (...args) => {
        if (at !== undefined) args[at] = args[at].slice();
        return Reflect.apply(trap, target, args);
      };
    },
  });
}
const handlerOf = (target, handler) => (isFunction(target) && isObject(handler) ? copying(handler) : handler);

function construct(target, handler) {
  if (!new.target) throw new TypeError("Constructor Proxy requires 'new'");
  return new Original(target, handlerOf(target, handler));
}
const Replacement = construct.bind(); // a bound function has no prototype, as Proxy
Object.defineProperty(Replacement, 'name', { value: 'Proxy', configurable: true });
define(Replacement, { revocable: (target, handler) => Original.revocable(target, handlerOf(target, handler)) });
define(globalThis, { Proxy: Replacement });
