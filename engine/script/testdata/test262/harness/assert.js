function assert(value, message) {
  if (value !== true) throw new Test262Error(message || 'got ' + value + ', want true');
}
assert.sameValue = (got, want, message) => {
  if (!Object.is(got, want)) throw new Test262Error((message || '') + ' got ' + String(got) + ', want ' + String(want));
};
assert.throws = (type, run) => {
  try {
    run();
  } catch (e) {
    if (e.constructor === type) return;
    throw new Test262Error('got ' + e + ', want a ' + type.name);
  }
  throw new Test262Error('got no error, want a ' + type.name);
};
