import * as jose from 'jose';
const enc = new TextEncoder();
export async function run() {
  const out = [];
  for (const alg of ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']) {
    const { publicKey, privateKey } = await jose.generateKeyPair(alg, { extractable: true });
    const token = await new jose.SignJWT({ user: 'a' }).setProtectedHeader({ alg }).setIssuer('me').setExpirationTime('2h').sign(privateKey);
    const { payload, protectedHeader } = await jose.jwtVerify(token, publicKey, { issuer: 'me' });
    const [pem, again] = [await jose.exportPKCS8(privateKey), await jose.importSPKI(await jose.exportSPKI(publicKey), alg)];
    const other = await new jose.SignJWT({ user: 'b' }).setProtectedHeader({ alg }).sign(await jose.importPKCS8(pem, alg));
    const bad = await jose.jwtVerify(other.slice(0, -8) + 'AAAAAAAA', again).catch((e) => e.code);
    const jwk = await jose.exportJWK(publicKey);
    out.push([alg, payload.user, protectedHeader.alg, (await jose.jwtVerify(other, await jose.importJWK(jwk, alg))).payload.user, bad, jwk.kty, (await jose.calculateJwkThumbprint(jwk)).length]);
  }
  const secret = enc.encode('0123456789abcdef0123456789abcdef');
  const token = await new jose.SignJWT({ n: 1 }).setProtectedHeader({ alg: 'HS256' }).sign(secret);
  out.push([token, (await jose.jwtVerify(token, secret)).payload.n]);
  for (const [alg, encryption] of [['dir', 'A256GCM'], ['A256KW', 'A128CBC-HS256'], ['A128GCMKW', 'A128GCM'], ['PBES2-HS256+A128KW', 'A256CBC-HS512']]) {
    const key = alg === 'PBES2-HS256+A128KW' ? enc.encode('password') : secret.slice(0, alg === 'A128GCMKW' ? 16 : 32);
    const jwe = await new jose.CompactEncrypt(enc.encode('text')).setProtectedHeader({ alg, enc: encryption }).encrypt(key);
    const { plaintext } = await jose.compactDecrypt(jwe, key, { keyManagementAlgorithms: [alg] });
    out.push([alg, encryption, new TextDecoder().decode(plaintext)]);
  }
  for (const alg of ['RSA-OAEP', 'RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A256KW']) {
    for (const options of alg.startsWith('EC') ? [{ crv: 'P-256' }, { crv: 'P-521' }, { crv: 'X25519' }] : [{}]) {
      const { publicKey, privateKey } = await jose.generateKeyPair(alg, options);
      const jwe = await new jose.EncryptJWT({ secret: 1 }).setProtectedHeader({ alg, enc: 'A256GCM' }).encrypt(publicKey);
      out.push([alg, options.crv, (await jose.jwtDecrypt(jwe, privateKey)).payload.secret]);
    }
  }
  return out;
}
