package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"restsrv/engine"
)

// Names of the system classes. They cannot collide with application classes,
// because a class name must not begin with #.
const (
	grantClass   = "#oauth-grant"
	spentClass   = "#oauth-spent"
	consentClass = "#oauth-consent"
)

// Classes returns new system classes for grants and consents. Open the store with these classes,
// and pass the same slice to New. No other package should use the classes.
func Classes() []*engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return []*engine.Class{
		// A grant is a code and the tokens that it was exchanged for: one access
		// token and one refresh token at a time. Secrets are stored as SHA-256, in
		// hex.
		engine.SystemClass(grantClass,
			property("id", engine.String),
			property("client", engine.String),
			indexed("account", engine.String),
			property("basis", engine.String), // basis of the account at the time of the grant, see Accounts.Current
			property("scope", engine.Text),   // the granted scope
			property("created", engine.DateTime),
			indexed("expires", engine.DateTime), // the latest of the times below

			indexed("code", engine.String),         // null if there was no code
			property("used", engine.Boolean),       // set if the code was used
			property("redirect", engine.Text),      // the URI to which the code was sent
			property("redirected", engine.Boolean), // set if the request for the code contained redirect_uri
			property("challenge", engine.String),   // challenge of PKCE, or null

			indexed("access", engine.String),
			property("accessScope", engine.Text),
			property("issued", engine.DateTime), // time when the access token was issued
			property("accessExpires", engine.DateTime),
			indexed("refresh", engine.String),
			property("refreshExpires", engine.DateTime),
			indexed("family", engine.String), // hash of the first half of all refresh tokens; null in rows of older versions
		),
		// A refresh token of an older version that was exchanged for another one.
		engine.SystemClass(spentClass,
			property("id", engine.String),
			property("grant", engine.String),
			indexed("expires", engine.DateTime),
		),
		// The consent of an account to a client, so that the account is not asked
		// again.
		engine.SystemClass(consentClass,
			property("id", engine.String),
			indexed("account", engine.String),
			indexed("client", engine.String),
			property("scope", engine.Text),
			property("given", engine.DateTime),
		),
	}
}

// instantOrNil returns a time as it is stored; nil if it is zero.
func instantOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return engine.InstantOf(t)
}

// textOrNil returns text as it is stored; nil if it is empty.
func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// secretBytes is the number of random bytes in a code or a token. It has twice as
// many hex digits, as in IONDV.
const secretBytes = 20

// newSecret returns a new code or token, and its hash for the database.
func newSecret() (secret, hash string) {
	b := make([]byte, secretBytes)
	rand.Read(b) // never returns an error: if it fails, it ends the process
	secret = hex.EncodeToString(b)
	return secret, hashOf(secret)
}

// familyDigits is the length of the first half of a refresh token, in hex digits. The first half is the same in all
// refresh tokens of a grant; it is called the family of the grant. The second half has 80 random bits, which are new
// in each token. So the database needs no row for a token that was exchanged before: if a request has the family of a
// grant and another second half than the current token, the token was used before, and the grant is revoked.
const familyDigits = secretBytes

// newFamily returns a new first half of refresh tokens.
func newFamily() string {
	secret, _ := newSecret()
	return familyOf(secret)
}

// familyOf returns the first half of a refresh token.
func familyOf(refresh string) string { return refresh[:min(familyDigits, len(refresh))] }

// newRefresh returns a new refresh token of a family, and its hash for the
// database.
func newRefresh(family string) (secret, hash string) {
	secret, _ = newSecret()
	secret = family + secret[familyDigits:]
	return secret, hashOf(secret)
}

func newID() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// wellFormed reports whether s has the form of a code or a token. The form is no
// secret.
func wellFormed(s string) bool {
	if len(s) != 2*secretBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
