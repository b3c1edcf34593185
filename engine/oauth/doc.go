// Package oauth is the OAuth2 provider. It serves the pages and endpoints of authorization (RFC
// 6749 with PKCE, revocation, introspection and metadata), manages the clients, and checks access
// tokens for services with the mode oauth. It stores grants as items of system classes through an
// engine.Repository. It uses accounts, passwords and sessions through the interfaces of Config.
//
// Reading order:
//
//   - oauth.go: Provider
//   - client.go and configured.go: clients
//   - authorize.go and consent.go: the consent of a user
//   - token.go and exchange.go: tokens for codes and refresh tokens
//   - grant.go: stored grants, and their use only once
//   - bearer.go: requests to services
//   - manage.go: revocation, introspection, metadata
//   - flows.go and failure.go: the adapter to the library
//
// The package uses the library github.com/go-oauth2/oauth2: the server of the library runs the
// grant types on our Manager (flows.go) and formats answers and errors. This package does the
// following itself, because the library does not do it or does it differently:
//
//   - Parsing of requests. The library merges the query and the body, so it would accept secrets
//     in a URL and repeated parameters. It rejects a code without redirect_uri even if the request
//     for the code had none. And when the method plain is switched off, it rejects requests
//     without PKCE.
//   - Status codes. Ours are those of RFC 6749 section 5.2: 401 if the client is not authenticated,
//     else 400. The library uses 401 for most errors.
//   - The manager. The library's manager reads a code or refresh token, checks it and removes it
//     later, so that two concurrent requests both succeed. It exchanges a refresh token without
//     checking its client, compares secrets as text and redirect URIs by the end of the host,
//     stores tokens in plain text, makes them from UUIDs, and depends on a library for JWT. Our
//     manager stores SHA-256 hashes. It uses a code or refresh token by one update on the revision
//     that was read, and revokes the whole grant if a code or token is reused.
//   - PKCE. It is S256 only, compared in constant time. A verifier without a challenge is rejected,
//     because an attacker may have removed the challenge.
//   - Authentication of clients. It comes before all other checks, and uses the password check of
//     accounts with its limits.
package oauth
