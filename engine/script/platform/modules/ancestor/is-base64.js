// The npm package is-base64: reports whether a text is base64. The empty text is, unless allowEmpty (formerly
// allowBlank) is false. The prefix "data:type;base64," is accepted if mime is set, and required if mimeRequired is
// set.
'use strict';

const prefix = 'data:\\w+\\/[a-zA-Z+.-]+;base64,';

module.exports = function isBase64(text, options) {
  if (typeof text !== 'string') {
    return false;
  }
  const o = options || {};
  if (text === '') {
    return o.allowEmpty !== false && o.allowBlank !== false;
  }
  const padding = o.paddingRequired === false ? '(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?' : '(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?';
  const before = o.mimeRequired ? prefix : o.mime || o.allowMime ? '(?:' + prefix + ')?' : '';
  return new RegExp('^' + before + '(?:[A-Za-z0-9+/]{4})*' + padding + '$').test(text);
};
