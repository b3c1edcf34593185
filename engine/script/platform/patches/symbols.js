// The well-known symbols that the engine lacks. Async generators and for await
// are translated to code that needs the first.
for (const name of ['asyncIterator', 'dispose', 'asyncDispose']) {
  if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value: Symbol('Symbol.' + name) });
}
