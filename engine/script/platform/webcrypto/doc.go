// Package webcrypto implements the operations of the interface SubtleCrypto of the Web Cryptography API
// (https://www.w3.org/TR/WebCryptoAPI/, with Ed25519 and X25519 of
// https://wicg.github.io/webcrypto-secure-curves/), and the keys, signatures and ciphers that the module crypto of
// Node.js needs. It knows no JavaScript: package cryptojs connects it with scripts.
//
// The primitives are those of the Go standard library. Scrypt comes from golang.org/x/crypto, and AES key wrap
// (RFC 3394) from go-jose. This package only composes them: it selects an algorithm, checks parameters and keys, and
// converts formats (PKCS #8 and SPKI of RFC 5958 and RFC 5280, JWK of RFC 7517, RFC 7518 and RFC 8037).
//
// To add an algorithm, add an entry to the registry (registry.go). The entry should have the operations of the algorithm, and
// the members of the dictionaries that scripts pass for them. Prepare is the entry point for SubtleCrypto: it
// converts and checks the arguments of a method and returns a Job. Jobs that may take long are marked as heavy; they
// should run outside of the JavaScript VM. Use a Meter to stop a Job when its time is over.
//
// Keys never appear in texts: Key and Material have a String method without the value of the key, and no exported
// fields.
package webcrypto
