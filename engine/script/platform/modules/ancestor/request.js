// The methods that Express adds to a request: is(types) compares the media type of the body, accepts(types)
// chooses a type of the response by the header Accept.
'use strict';

const types = {
  html: 'text/html', text: 'text/plain', txt: 'text/plain', css: 'text/css', csv: 'text/csv', xml: 'application/xml',
  json: 'application/json', js: 'text/javascript', pdf: 'application/pdf', zip: 'application/zip', bin: 'application/octet-stream',
  urlencoded: 'application/x-www-form-urlencoded', form: 'application/x-www-form-urlencoded', multipart: 'multipart/*',
  png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', svg: 'image/svg+xml', webp: 'image/webp',
};

const flat = (list) => list.flat().map(String);
const bare = (type) => String(type || '').split(';')[0].trim().toLowerCase();

// Returns the media type of a name, an extension or a +suffix, or undefined.
function mediaType(name) {
  if (name[0] === '+') {
    return '*/*' + name.toLowerCase();
  }
  return name.includes('/') ? name.toLowerCase() : types[name.toLowerCase().replace(/^\./, '')];
}

// Reports whether a type fits a pattern such as text/* or */*+json.
function suits(type, pattern) {
  const [main, sub] = type.split('/'), [wantedMain, wantedSub] = pattern.split('/');
  if (sub === undefined || wantedSub === undefined || wantedMain !== '*' && wantedMain !== main) {
    return false;
  }
  return wantedSub === '*' || wantedSub === sub || wantedSub.startsWith('*+') && sub.endsWith(wantedSub.slice(1));
}

function is(contentType, hasBody, ...wanted) {
  const type = bare(contentType);
  if (!hasBody) {
    return null;
  }
  if (!type) {
    return false;
  }
  const names = flat(wanted);
  if (names.length === 0) {
    return type;
  }
  for (const name of names) {
    const pattern = mediaType(name);
    if (pattern && suits(type, pattern)) {
      return name[0] === '+' || pattern.includes('*') ? type : name;
    }
  }
  return false;
}

// Returns the ranges of a header Accept, each including its weight and its specificity.
function ranges(accept) {
  return String(accept === undefined ? '*/*' : accept).split(',').map((range, place) => {
    const [type, ...params] = range.split(';').map((s) => s.trim().toLowerCase());
    const q = params.map((p) => /^q=([01](?:\.\d{0,3})?)$/.exec(p)).find(Boolean);
    return { type, q: q ? Number(q[1]) : 1, exact: type === '*/*' ? 0 : type.endsWith('/*') ? 1 : 2, place };
  }).filter((r) => r.type.includes('/'));
}

function accepts(accept, ...offered) {
  const all = ranges(accept);
  const names = flat(offered);
  if (names.length === 0) {
    return all.filter((r) => r.q > 0).sort((a, b) => b.q - a.q || a.place - b.place).map((r) => r.type);
  }
  const rated = [];
  names.forEach((name, order) => {
    const type = mediaType(name);
    const best = type && all.filter((r) => suits(type, r.type)).sort((a, b) => b.exact - a.exact)[0];
    if (best && best.q > 0) {
      rated.push({ name, order, ...best });
    }
  });
  rated.sort((a, b) => b.q - a.q || b.exact - a.exact || a.place - b.place || a.order - b.order);
  return rated.length ? rated[0].name : false;
}

module.exports = { is, accepts };
