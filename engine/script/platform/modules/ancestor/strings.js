// core/strings: texts by list and id. %name in a text is a parameter. A list can have texts for a language. If a
// text is missing there, the text for all languages is used.
'use strict';

const lists = new Map();

function registerBase(list, texts, lang) {
  const name = lang ? list + '@' + lang : list;
  if (!lists.has(name)) {
    lists.set(name, new Map());
  }
  for (const id of Object.keys(texts)) {
    lists.get(name).set(id, texts[id]);
  }
}

function find(list, id, lang) {
  for (const name of lang ? [list + '@' + lang, list] : [list]) {
    if (lists.has(name) && lists.get(name).has(String(id))) {
      return lists.get(name).get(String(id));
    }
  }
  return undefined;
}

const given = (params, name) => params !== null && typeof params === 'object' && name in params;

// If an id has no text, the id is the text.
function s(list, id, params, lang) {
  const text = find(list, id, lang);
  if (typeof text === 'function') {
    return text({ lang, params });
  }
  return text === undefined ? id
    : text.replace(/%([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name) => given(params, name) ? String(params[name]) : whole);
}

module.exports = { registerBase, s };
