package webcrypto

import (
	"slices"
)

// Key is a CryptoKey. It is immutable, and goroutines may share it.
type Key struct {
	material    *Material
	extractable bool
	usages      []string
	algorithm   string
	hash        *digest // nil if the algorithm has none
}

// KeyPair is the result of generateKey for algorithms with public keys.
type KeyPair struct{ Public, Private *Key }

// String returns a text without the value of the key, for logs.
func (k *Key) String() string { return "CryptoKey (" + k.algorithm + ", " + k.Type() + ")" }

// GoString returns the same text as String.
func (k *Key) GoString() string { return k.String() }

// Type returns secret, private or public.
func (k *Key) Type() string { return k.material.Type() }

// Extractable reports whether scripts may export the key.
func (k *Key) Extractable() bool { return k.extractable }

// Usages returns the operations that the key may be used for.
func (k *Key) Usages() []string { return slices.Clone(k.usages) }

// Material returns the value of the key, for a KeyObject of Node.js.
func (k *Key) Material() *Material { return k.material }

// Member is a member of a JavaScript object. The value is a string, a bool, an int, a list of strings, bytes, or a
// nested list of members.
type Member struct {
	Name  string
	Value any
}

// Algorithm returns the members of the object algorithm of the CryptoKey.
func (k *Key) Algorithm() []Member {
	list := []Member{{"name", k.algorithm}}
	switch d := k.material.Details(); {
	case d.Secret:
		if k.algorithm != "PBKDF2" && k.algorithm != "HKDF" {
			list = append(list, Member{"length", d.Bits})
		}
	case d.Curve != "" && k.material.Family() == "ec":
		list = append(list, Member{"namedCurve", d.Curve})
	case d.Modulus > 0:
		list = append(list, Member{"modulusLength", d.Modulus}, Member{"publicExponent", d.Exponent})
	}
	if k.hash != nil {
		list = append(list, Member{"hash", []Member{{"name", k.hash.web}}})
	}
	return list
}

// allUsages lists the usages that the standard knows, in its order.
var allUsages = []string{"encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"}

func (k *Key) mayBeUsedFor(usage string) bool { return slices.Contains(k.usages, usage) }

// checkUsages fails if an algorithm does not support one of the usages.
func checkUsages(usages []string, supported ...string) error {
	for _, u := range usages {
		if !slices.Contains(supported, u) {
			return failure(syntaxError, "Unsupported key usage %s; supported are: %v", u, supported)
		}
	}
	return nil
}

// intersect returns the usages that are also in the list.
func intersect(usages []string, list ...string) []string {
	var both []string
	for _, u := range usages {
		if slices.Contains(list, u) {
			both = append(both, u)
		}
	}
	return both
}
