package webcrypto

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
)

// JWK is a JSON Web Key that a script passed.
type JWK struct {
	text   map[string]string // members that are strings
	ops    []string          // key_ops
	hasOps bool
	ext    *bool
}

// jwkTexts lists the members of a JWK that are strings, in the order in which they are read.
var jwkTexts = []string{"alg", "crv", "d", "dp", "dq", "e", "k", "kty", "n", "p", "q", "qi", "use", "x", "y"}

// ReadJWK converts a JavaScript object to a JWK, as the dictionary JsonWebKey of the standard.
func ReadJWK(v Value) (*JWK, error) {
	if !v.IsObject() {
		return nil, typeError(codeType, "keyData: expected an object with the members of a JSON Web Key")
	}
	j := &JWK{text: map[string]string{}}
	for _, name := range jwkTexts {
		if member := v.Get(name); !member.IsUndefined() {
			j.text[name] = member.String()
		}
	}
	if ext := v.Get("ext"); !ext.IsUndefined() {
		b := ext.Bool()
		j.ext = &b
	}
	if ops := v.Get("key_ops"); !ops.IsUndefined() {
		list, ok := ops.List()
		if !ok {
			return nil, typeError(codeType, "keyData.key_ops: expected a list")
		}
		j.hasOps = true
		for _, op := range list {
			j.ops = append(j.ops, op.String())
		}
	}
	return j, nil
}

// parseJWK reads the JSON text of a JWK.
func parseJWK(text []byte) (*JWK, error) {
	var all map[string]any
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &all); err != nil || all == nil {
		return nil, failure(dataError, "the unwrapped key is not a JSON Web Key")
	}
	j := &JWK{text: map[string]string{}}
	for _, name := range jwkTexts {
		if s, ok := all[name].(string); ok {
			j.text[name] = s
		}
	}
	if ext, ok := all["ext"].(bool); ok {
		j.ext = &ext
	}
	if list, ok := all["key_ops"].([]any); ok {
		j.hasOps = true
		for _, op := range list {
			s, _ := op.(string)
			j.ops = append(j.ops, s)
		}
	}
	return j, nil
}

// checkUse fails if the JWK must not be used as the script requires. use is the value of the member use that the
// algorithm expects.
func (j *JWK) checkUse(use string, extractable bool, usages []string) error {
	if got, ok := j.text["use"]; ok && use != "" && got != use && len(usages) > 0 {
		return failure(dataError, "Invalid JWK: the member use is %q, not %q", got, use)
	}
	for i, op := range j.ops {
		if slices.Contains(j.ops[:i], op) {
			return failure(dataError, "Invalid JWK: the member key_ops has %q twice", op)
		}
	}
	for _, u := range usages {
		if j.hasOps && !slices.Contains(j.ops, u) {
			return failure(dataError, "Invalid JWK: the member key_ops does not allow %s", u)
		}
	}
	if j.ext != nil && !*j.ext && extractable {
		return failure(dataError, "Invalid JWK: the member ext does not allow an extractable key")
	}
	return nil
}

// checkAlg fails if the JWK names an algorithm that is not in the list.
func (j *JWK) checkAlg(allowed ...string) error {
	if alg, ok := j.text["alg"]; ok && !slices.Contains(allowed, alg) {
		return failure(dataError, "Invalid JWK: the member alg is %q, want %v", alg, allowed)
	}
	return nil
}

// bytes returns the decoded value of a member. It fails if the member is missing.
func (j *JWK) bytes(name string) ([]byte, error) {
	text, ok := j.text[name]
	if !ok || len(text) > 2*maxEncoded {
		return nil, failure(dataError, "Invalid JWK: the member %s is missing or too long", name)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, failure(dataError, "Invalid JWK: the member %s is not base64url", name)
	}
	return b, nil
}

// Material returns the key of a JWK. It fails with a DataError if a member is missing or not valid.
func (j *JWK) Material() (*Material, error) {
	switch j.text["kty"] {
	case "oct":
		k, err := j.bytes("k")
		if err != nil {
			return nil, err
		}
		return NewSecret(k), nil
	case "RSA":
		return j.rsaKey()
	case "EC":
		return j.ecKey()
	case "OKP":
		return j.okpKey()
	}
	return nil, failure(dataError, "Invalid JWK: the member kty is %q; supported are oct, RSA, EC and OKP", j.text["kty"])
}

// numbers returns the decoded values of members as integers.
func (j *JWK) numbers(names ...string) ([]*big.Int, error) {
	var list []*big.Int
	for _, name := range names {
		b, err := j.bytes(name)
		if err != nil {
			return nil, err
		}
		if len(b) > maxModulus/8+1 {
			return nil, failure(dataError, "Invalid JWK: %v", errKeyTooLong)
		}
		list = append(list, new(big.Int).SetBytes(b))
	}
	return list, nil
}

func (j *JWK) rsaKey() (*Material, error) {
	list, err := j.numbers("n", "e")
	if err != nil {
		return nil, err
	}
	n, e := list[0], list[1]
	if !e.IsInt64() || e.Int64() > 1<<31-1 || e.Bit(0) == 0 || n.Bit(0) == 0 {
		return nil, failure(dataError, "Invalid JWK: the modulus or the public exponent is not valid")
	}
	public := rsa.PublicKey{N: n, E: int(e.Int64())}
	var m *Material
	if _, ok := j.text["d"]; !ok {
		m = newPublic(&public)
	} else {
		list, err := j.numbers("d", "p", "q", "dp", "dq", "qi")
		if err != nil {
			return nil, err
		}
		key := &rsa.PrivateKey{PublicKey: public, D: list[0], Primes: list[1:3]}
		if _, err := checkMaterial(newPrivate(key)); err != nil {
			return nil, failure(dataError, "Invalid JWK: %v", err)
		}
		key.Precompute()
		if err := key.Validate(); err != nil {
			return nil, failure(dataError, "Invalid JWK: %v", err)
		}
		m = newPrivate(key)
	}
	if _, err := checkMaterial(m); err != nil {
		return nil, failure(dataError, "Invalid JWK: %v", err)
	}
	return m, nil
}

func (j *JWK) ecKey() (*Material, error) {
	c := findCurve(j.text["crv"])
	if c == nil || c.name != j.text["crv"] {
		return nil, failure(dataError, "Invalid JWK: the curve %q is not supported", j.text["crv"])
	}
	point := []byte{4}
	for _, name := range []string{"x", "y"} {
		b, err := j.bytes(name)
		if err != nil {
			return nil, err
		}
		if len(b) != c.size {
			return nil, failure(dataError, "Invalid JWK: the member %s must have %d bytes, not %d", name, c.size, len(b))
		}
		point = append(point, b...)
	}
	m, err := parsePoint(c, point)
	if err != nil {
		return nil, failure(dataError, "Invalid JWK: the point is not on the curve")
	}
	if _, ok := j.text["d"]; !ok {
		return m, nil
	}
	d, err := j.bytes("d")
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.ParseRawPrivateKey(c.params, d)
	if err != nil || !key.PublicKey.Equal(m.public) {
		return nil, failure(dataError, "Invalid JWK: the private key does not match the public key")
	}
	return newPrivate(key), nil
}

// okpKey returns a key of Ed25519 or X25519 (RFC 8037).
func (j *JWK) okpKey() (*Material, error) {
	x, err := j.bytes("x")
	if err != nil {
		return nil, err
	}
	d, isPrivate := []byte(nil), false
	if _, isPrivate = j.text["d"]; isPrivate {
		if d, err = j.bytes("d"); err != nil {
			return nil, err
		}
	}
	var m *Material
	switch crv := j.text["crv"]; {
	case len(x) != 32 || isPrivate && len(d) != 32:
		return nil, failure(dataError, "Invalid JWK: the key must have 32 bytes")
	case crv == "Ed25519" && isPrivate:
		m = newPrivate(ed25519.NewKeyFromSeed(d))
	case crv == "Ed25519":
		m = newPublic(ed25519.PublicKey(x))
	case crv == "X25519" && isPrivate:
		key, err := ecdh.X25519().NewPrivateKey(d)
		if err != nil {
			return nil, failure(dataError, "Invalid JWK: %v", err)
		}
		m = newPrivate(key)
	case crv == "X25519":
		key, err := ecdh.X25519().NewPublicKey(x)
		if err != nil {
			return nil, failure(dataError, "Invalid JWK: %v", err)
		}
		m = newPublic(key)
	default:
		return nil, failure(dataError, "Invalid JWK: the curve %q is not supported", crv)
	}
	if raw, err := m.raw(); err != nil || !bytes.Equal(raw, x) {
		return nil, failure(dataError, "Invalid JWK: the private key does not match the public key")
	}
	return m, nil
}

func encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// JWK returns the members of the key as a JSON Web Key, without alg, key_ops and ext.
func (m *Material) JWK() ([]Member, error) {
	switch public := m.public.(type) {
	case nil:
		return []Member{{"kty", "oct"}, {"k", encode64(m.secret)}}, nil
	case *rsa.PublicKey:
		list := []Member{{"kty", "RSA"}, {"n", encode64(public.N.Bytes())}, {"e", encode64(big.NewInt(int64(public.E)).Bytes())}}
		if key, ok := m.private.(*rsa.PrivateKey); ok {
			if len(key.Primes) != 2 {
				return nil, errors.New("keys with more than two primes are not supported")
			}
			for i, n := range []*big.Int{key.D, key.Primes[0], key.Primes[1], key.Precomputed.Dp, key.Precomputed.Dq, key.Precomputed.Qinv} {
				list = append(list, Member{[]string{"d", "p", "q", "dp", "dq", "qi"}[i], encode64(n.Bytes())})
			}
		}
		return list, nil
	case *ecdsa.PublicKey:
		return m.ecJWK(public)
	}
	raw, err := m.raw()
	if err != nil {
		return nil, err
	}
	list := []Member{{"crv", "Ed25519"}, {"x", encode64(raw)}, {"kty", "OKP"}}
	if m.Family() == "x25519" {
		list[0].Value = "X25519"
	}
	switch key := m.private.(type) {
	case ed25519.PrivateKey:
		list = append(list, Member{"d", encode64(key.Seed())})
	case *ecdh.PrivateKey:
		list = append(list, Member{"d", encode64(key.Bytes())})
	}
	return list, nil
}

func (m *Material) ecJWK(public *ecdsa.PublicKey) ([]Member, error) {
	point, err := public.Bytes()
	if err != nil {
		return nil, err
	}
	c := curveOf(public.Curve)
	list := []Member{{"kty", "EC"}, {"x", encode64(point[1 : 1+c.size])}, {"y", encode64(point[1+c.size:])}, {"crv", c.name}}
	if key, ok := m.private.(*ecdsa.PrivateKey); ok {
		d, err := key.Bytes()
		if err != nil {
			return nil, err
		}
		list = append(list, Member{"d", encode64(d)})
	}
	return list, nil
}
