// RegExp.escape.
const controls = { '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r' };
const hex = (code, width) => (width === 2 ? '\\x' : '\\u') + code.toString(16).padStart(width, '0');

define(RegExp, {
  escape(text) {
    if (typeof text !== 'string') throw new TypeError('RegExp.escape takes a string');
    let out = '';
    for (const c of text) {
      const code = c.codePointAt(0);
      if (out === '' && /[0-9A-Za-z]/.test(c)) out += hex(code, 2);
      else if (/[\^$\\.*+?()[\]{}|/]/.test(c)) out += '\\' + c;
      else if (controls[c]) out += '\\' + controls[c];
      else if (/[,\-=<>#&!%:;@~'`"]/.test(c) || (/\s/.test(c) && code < 256)) out += hex(code, 2);
      else if (/\s/.test(c) || (code >= 0xd800 && code <= 0xdfff)) out += hex(code, 4);
      else out += c;
    }
    return out;
  },
});
