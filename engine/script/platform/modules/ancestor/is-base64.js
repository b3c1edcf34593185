// The npm package is-base64: whether text is base64, the empty text too unless
// allowEmpty (once allowBlank) is false; mimeRequired wants, and mime allows,
// "data:type;base64," before it.
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
