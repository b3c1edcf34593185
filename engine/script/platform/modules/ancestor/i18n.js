// core/i18n: texts are not translated. If a number is given, the second text is the plural.
'use strict';

function t(text, ...more) {
  const plural = more.find((m) => typeof m === 'string');
  return more.some((m) => typeof m === 'number') ? plural || text : text;
}

module.exports = {
  t,
  w: (text, ...more) => () => t(text, ...more),
  lang() {},
  domain() {},
  supported: () => [],
  load() {
    return Promise.reject(new Error('core/i18n.load is not supported: texts are not translated'));
  },
};
