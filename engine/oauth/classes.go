package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"restsrv/engine"
)

// Names of the system classes. No application class can have them.
const (
	grantClass   = "#oauth-grant"
	spentClass   = "#oauth-spent"
	consentClass = "#oauth-consent"
)

// Classes builds the system classes of what is granted. Open the store with
// them, hand the same slice to New, and show them to nobody else.
func Classes() []*engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return []*engine.Class{
		// A grant is a code and all that comes of it: one access token and one
		// refresh token at a time. Secrets are SHA-256, in hex.
		engine.SystemClass(grantClass,
			property("id", engine.String),
			property("client", engine.String),
			indexed("account", engine.String),
			property("basis", engine.String), // the account's password had it when it was granted
			property("scope", engine.Text),   // that was granted
			property("created", engine.DateTime),
			indexed("expires", engine.DateTime), // the last of all below

			indexed("code", engine.String),         // null where there was none
			property("used", engine.Boolean),       // the code
			property("redirect", engine.Text),      // where the code was sent
			property("redirected", engine.Boolean), // the request for the code named it
			property("challenge", engine.String),   // of PKCE, null for none

			indexed("access", engine.String),
			property("accessScope", engine.Text),
			property("issued", engine.DateTime), // the access token
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
		// What an account lets a client have without being asked again.
		engine.SystemClass(consentClass,
			property("id", engine.String),
			indexed("account", engine.String),
			indexed("client", engine.String),
			property("scope", engine.Text),
			property("given", engine.DateTime),
		),
	}
}

// moment is a time as it is stored; null for the zero time.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return engine.InstantOf(t)
}

// optional is text as it is stored; null for none.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// secretBytes of randomness are in a code or a token; twice as many hex digits,
// as the ancestor has.
const secretBytes = 20

// newSecret makes a code or a token, and the hash that is stored of it.
func newSecret() (secret, hash string) {
	b := make([]byte, secretBytes)
	rand.Read(b) // never fails: it ends the process instead
	secret = hex.EncodeToString(b)
	return secret, hashOf(secret)
}

// All refresh tokens of a grant have the same first half, its family. By that a
// token that was exchanged is recognized without a row of its own. The second half
// of 80 bits is new each time; one wrong guess at it ends the grant.
const familyDigits = secretBytes

// newFamily makes the first half of refresh tokens.
func newFamily() string {
	secret, _ := newSecret()
	return familyOf(secret)
}

// familyOf returns the first half of a refresh token.
func familyOf(refresh string) string { return refresh[:min(familyDigits, len(refresh))] }

// newRefresh makes a refresh token of a family, and the hash that is stored of it.
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

// wellFormed reports whether s looks like a code or a token: the form is
// public.
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
