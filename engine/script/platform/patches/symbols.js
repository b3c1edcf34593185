// The well-known symbols that the engine lacks. Compiled async generators and for await loops need the first.
for (const name of ['asyncIterator', 'dispose', 'asyncDispose']) {
  if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value: Symbol('Symbol.' + name) });
}
