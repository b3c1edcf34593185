package webcrypto

import (
	"crypto"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"hash"
	"slices"
	"strings"
)

// digest is a hash algorithm.
type digest struct {
	name  string      // in Node.js
	web   string      // in the Web Cryptography API; "" if it is not part of it
	id    crypto.Hash // for signatures; 0 if there are none
	new   func() hash.Hash
	block int // size of a block in bytes
	rs    string
	ps    string
	hs    string
	oaep  string // names of the algorithms with this hash in JWK
}

var digests = []*digest{
	{name: "md5", id: crypto.MD5, new: md5.New, block: 64},
	{name: "sha1", web: "SHA-1", id: crypto.SHA1, new: sha1.New, block: 64, rs: "RS1", ps: "PS1", hs: "HS1", oaep: "RSA-OAEP"},
	{name: "sha224", id: crypto.SHA224, new: sha256.New224, block: 64},
	{name: "sha256", web: "SHA-256", id: crypto.SHA256, new: sha256.New, block: 64, rs: "RS256", ps: "PS256", hs: "HS256", oaep: "RSA-OAEP-256"},
	{name: "sha384", web: "SHA-384", id: crypto.SHA384, new: sha512.New384, block: 128, rs: "RS384", ps: "PS384", hs: "HS384", oaep: "RSA-OAEP-384"},
	{name: "sha512", web: "SHA-512", id: crypto.SHA512, new: sha512.New, block: 128, rs: "RS512", ps: "PS512", hs: "HS512", oaep: "RSA-OAEP-512"},
	{name: "sha512-224", id: crypto.SHA512_224, new: sha512.New512_224, block: 128},
	{name: "sha512-256", id: crypto.SHA512_256, new: sha512.New512_256, block: 128},
	{name: "sha3-224", id: crypto.SHA3_224, new: func() hash.Hash { return sha3.New224() }, block: 144},
	{name: "sha3-256", id: crypto.SHA3_256, new: func() hash.Hash { return sha3.New256() }, block: 136},
	{name: "sha3-384", id: crypto.SHA3_384, new: func() hash.Hash { return sha3.New384() }, block: 104},
	{name: "sha3-512", id: crypto.SHA3_512, new: func() hash.Hash { return sha3.New512() }, block: 72},
}

// webDigest returns the hash algorithm with a name of the Web Cryptography API, such as SHA-256, or nil.
func webDigest(name string) *digest {
	for _, d := range digests {
		if d.web != "" && strings.EqualFold(d.web, name) {
			return d
		}
	}
	return nil
}

// nodeDigest returns the hash algorithm with a name of Node.js in any of its spellings, such as sha256, SHA-256 and
// RSA-SHA256, or nil.
func nodeDigest(name string) *digest {
	plain := strings.TrimPrefix(strings.ToLower(name), "rsa-")
	plain = strings.Replace(plain, "/", "-", 1)
	for _, spelling := range []string{plain, strings.Replace(plain, "-", "", 1)} {
		for _, d := range digests {
			if d.name == spelling {
				return d
			}
		}
	}
	return nil
}

// HashNames returns the names of the hash algorithms for Node.js.
func HashNames() []string {
	names := make([]string, 0, len(digests))
	for _, d := range digests {
		names = append(names, d.name)
	}
	slices.Sort(names)
	return names
}

// NewHash returns a function that creates hashes of the algorithm with a name of Node.js. It returns nil if there is
// no such algorithm.
func NewHash(name string) func() hash.Hash {
	if d := nodeDigest(name); d != nil {
		return d.new
	}
	return nil
}

// sum returns the hash of data.
func (d *digest) sum(m *Meter, data []byte) ([]byte, error) {
	h := d.new()
	if err := m.Write(h, data); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
