// String.prototype.isWellFormed and toWellFormed.
function text(self) {
  if (self === null || self === undefined) throw new TypeError('a method of String is called on ' + self);
  return String(self);
}

function wellFormed(s) {
  let out = '', from = 0;
  for (let i = 0; i < s.length; i++) {
    const code = s.charCodeAt(i);
    if (code < 0xd800 || code > 0xdfff) continue;
    const next = s.charCodeAt(i + 1);
    if (code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
      i++;
      continue;
    }
    out += s.slice(from, i) + '\ufffd';
    from = i + 1;
  }
  return out + s.slice(from);
}

define(String.prototype, {
  isWellFormed() { const s = text(this); return wellFormed(s) === s; },
  toWellFormed() { return wellFormed(text(this)); },
});
