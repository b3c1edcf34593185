const jwt = require('jsonwebtoken'), crypto = require('crypto');
exports.run = () => {
  const out = [], pem = { publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } };
  const rsa = crypto.generateKeyPairSync('rsa', { modulusLength: 2048, ...pem }), ec = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256', ...pem });
  for (const [algorithm, signing, checking] of [['HS256', 'secret', 'secret'], ['HS512', crypto.createSecretKey('secret'), crypto.createSecretKey('secret')], ['RS256', rsa.privateKey, rsa.publicKey], ['PS256', rsa.privateKey, rsa.publicKey],
    ['RS384', crypto.createPrivateKey(rsa.privateKey), crypto.createPublicKey(rsa.publicKey)], ['ES256', ec.privateKey, ec.publicKey]]) {
    const token = jwt.sign({ user: 'a', iat: 1700000000 }, signing, { algorithm, issuer: 'me' });
    let bad;
    try { jwt.verify(token.slice(0, -6) + 'AAAAAA', checking); } catch (e) { bad = e.message; }
    let wrong;
    try { jwt.verify(token, checking, { algorithms: ['HS384'] }); } catch (e) { wrong = e.message; }
    out.push([algorithm, jwt.verify(token, checking, { algorithms: [algorithm], issuer: 'me' }), bad, wrong, algorithm.startsWith('HS') ? token : jwt.decode(token, { complete: true }).header]);
  }
  try { jwt.sign({}, ec.privateKey, { algorithm: 'RS256' }); } catch (e) { out.push(e.message); }
  try { jwt.verify(jwt.sign({ exp: 1 }, 's'), 's'); } catch (e) { out.push(e.name); }
  return out;
};
