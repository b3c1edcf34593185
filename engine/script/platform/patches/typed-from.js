// TypedArray.from of the engine throws for a primitive value, such as a text. This one converts it to an object first.
const TypedArray = Object.getPrototypeOf(Uint8Array);
const original = TypedArray.from;
define(TypedArray, {
  from(source, ...rest) {
    return Reflect.apply(original, this, [source === undefined || source === null ? source : Object(source), ...rest]);
  },
});
Object.defineProperty(TypedArray.from, 'length', { value: 1, configurable: true });
