// openid-client, which this project did not write, as a confidential and as a
// public client of the server SERVER: every step of OAuth2 that it knows.
import assert from "node:assert/strict";
import * as client from "openid-client";

const server = new URL(process.env.SERVER);
const options = { algorithm: "oauth2", execute: [client.allowInsecureRequests] };

// The person at the browser.
const signedIn = await fetch(new URL("/auth", server), {
  method: "POST",
  redirect: "manual",
  body: new URLSearchParams({ username: "admin", password: process.env.PASSWORD }),
});
const cookie = signedIn.headers.get("set-cookie").split(";")[0];

async function answer(url, button) {
  const page = await fetch(url, { headers: { cookie } });
  assert.equal(page.status, 200, await page.text());
  const r = await fetch(url, { method: "POST", redirect: "manual", headers: { cookie }, body: new URLSearchParams({ [button]: "1" }) });
  assert.equal(r.status, 302);
  return new URL(r.headers.get("location"));
}

async function flow(config, redirect_uri, scope) {
  const code_verifier = client.randomPKCECodeVerifier();
  const code_challenge = await client.calculatePKCECodeChallenge(code_verifier);
  const state = client.randomState();
  const parameters = { redirect_uri, state, code_challenge, code_challenge_method: "S256" };
  if (scope) parameters.scope = scope;
  const url = client.buildAuthorizationUrl(config, parameters);

  await assert.rejects(
    client.authorizationCodeGrant(config, await answer(url, "deny"), { pkceCodeVerifier: code_verifier, expectedState: state }),
    (e) => e.error === "access_denied",
  );
  const back = await answer(url, "grant");
  const tokens = await client.authorizationCodeGrant(config, back, { pkceCodeVerifier: code_verifier, expectedState: state });
  assert.equal(tokens.expires_in, 3600);
  await call(config, tokens.access_token, 200);

  const fresh = await client.refreshTokenGrant(config, tokens.refresh_token);
  assert.notEqual(fresh.refresh_token, tokens.refresh_token);
  await call(config, fresh.access_token, 200);
  return { tokens, fresh, back, code_verifier, state };
}

async function call(config, token, status) {
  const r = await client.fetchProtectedResource(config, token, new URL("/rest/echo-oauth", server), "POST").catch((e) => e);
  assert.equal(r.status, status);
}

const confidential = await client.discovery(server, "web", "s/3:%+ß", client.ClientSecretBasic("s/3:%+ß"), options);
{
  const { tokens, fresh, back, code_verifier, state } = await flow(confidential, "https://web.example/cb", "echo-oauth crud:read");
  assert.equal(tokens.scope, "echo-oauth crud:read");
  const told = await client.tokenIntrospection(confidential, fresh.access_token);
  assert.deepEqual([told.active, told.username, told.client_id], [true, "admin@local", "web"]);
  await client.tokenRevocation(confidential, fresh.access_token);
  assert.equal((await client.tokenIntrospection(confidential, fresh.access_token)).active, false);
  await call(confidential, fresh.access_token, 401);
  // The code a second time ends all that came of it.
  await assert.rejects(
    client.authorizationCodeGrant(confidential, back, { pkceCodeVerifier: code_verifier, expectedState: state }),
    (e) => e.error === "invalid_grant",
  );
  await assert.rejects(client.refreshTokenGrant(confidential, fresh.refresh_token), (e) => e.error === "invalid_grant");
}
{
  const posted = await client.discovery(server, "web", "s/3:%+ß", client.ClientSecretPost("s/3:%+ß"), options);
  const own = await client.clientCredentialsGrant(posted, { scope: "echo-oauth" });
  await call(posted, own.access_token, 200);
  const wrong = await client.discovery(server, "web", "wrong", client.ClientSecretPost("wrong"), options);
  await assert.rejects(client.clientCredentialsGrant(wrong), (e) => e.error === "invalid_client" || e.cause?.some?.((c) => c.scheme === "basic"));
}
{
  const native = await client.discovery(server, "native", undefined, client.None(), options);
  await flow(native, "http://127.0.0.1:53682/cb");
}
console.log("done");
