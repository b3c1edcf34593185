// Package oauth is the OAuth2 provider: the pages and endpoints of
// authorization (RFC 6749 with PKCE, revocation, introspection and metadata),
// its clients, and mode oauth of services. It keeps what it gives as items of
// system classes through whatever engine.Repository it is handed; accounts,
// passwords and sessions are its neighbours', whom it meets by the interfaces
// of Config.
//
// Reading order: oauth.go (what there is), client.go and configured.go (who asks), authorize.go
// and consent.go (a person grants), token.go and exchange.go (codes and refresh
// tokens become tokens), grant.go (what is stored, and used once), bearer.go
// (requests to services), manage.go (revocation, introspection, metadata),
// flows.go and failure.go (what the library asks and is told).
//
// The library github.com/go-oauth2/oauth2 is behind it: its server runs a
// grant type to its end against our Manager (flows.go) and words answers and
// errors. These we do ourselves, because it does not or does otherwise:
//
//   - Requests are parsed here. The library reads the query and the body as
//     one, so that secrets in an address would count and a parameter could come
//     twice; refuses a code without redirect_uri even where none was registered
//     with the code; and refuses whoever sends no PKCE as soon as the method
//     plain is switched off.
//   - Statuses are those of RFC 6749 section 5.2: 400, and 401 for a client
//     that is not who it says. The library has 401 for most.
//   - Its manager is not used. It reads a code or refresh token, checks it and
//     removes it later, so that two requests at once are both served; exchanges
//     a refresh token without asking whose it is; compares secrets and redirect
//     URIs by text and by the end of the host; keeps tokens in the clear; makes
//     them of UUIDs; and brings a library for JWT along. Ours keeps SHA-256,
//     uses a code or refresh token by one update on the revision that was read,
//     and ends all that was given when one comes back.
//   - PKCE is S256 only, compared in constant time; a verifier without a
//     challenge is refused, since somebody removed that.
//   - Clients are authenticated before anything else is looked at, by the
//     password check of accounts with its limits.
package oauth
