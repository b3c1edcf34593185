package webcrypto

import (
	"strings"
	"sync"
)

// operation is the name of an operation that an algorithm can support.
type operation string

const (
	opEncrypt    operation = "encrypt"
	opDecrypt    operation = "decrypt"
	opSign       operation = "sign"
	opVerify     operation = "verify"
	opDigest     operation = "digest"
	opGenerate   operation = "generateKey"
	opImport     operation = "importKey"
	opExport     operation = "exportKey"
	opDeriveBits operation = "deriveBits"
	opWrap       operation = "wrapKey"
	opUnwrap     operation = "unwrapKey"
	opKeyLength  operation = "get key length"
)

// algorithm is an algorithm of the standard. A function that belongs to an operation is nil if the algorithm does not
// support the operation.
type algorithm struct {
	name string
	// operations has the dictionary for the parameters of each operation that the algorithm supports.
	operations map[operation][]field

	encrypt, decrypt func(m *Meter, p *params, k *Key, data []byte) ([]byte, error)
	sign             func(m *Meter, p *params, k *Key, data []byte) ([]byte, error)
	verify           func(m *Meter, p *params, k *Key, signature, data []byte) (bool, error)
	// generate returns a secret or private key.
	generate func(p *params) (*Material, error)
	// usages has the usages that keys support, by type of the key.
	usages map[string][]string
	// importKey reads a key. It checks neither usages nor members of a JWK that all algorithms have in common.
	importKey func(p *params, format string, data keyData) (*Material, error)
	// jwkAlg returns the value of the member alg of the key as a JWK, or "".
	jwkAlg func(k *Key) string
	// use is the value of the member use of a JWK.
	use string
	// deriveBits returns length bits, or as many as the algorithm has if length is nil.
	deriveBits func(m *Meter, p *params, k *Key, length *uint32) ([]byte, error)
	// keyLength returns the length of a derived key in bits, or nil if any length is possible.
	keyLength func(p *params) (*uint32, error)
	// isHeavy reports whether an operation takes long for few bytes. It may be nil.
	isHeavy func(op operation, p *params, k *Key) bool
}

// keyData is an encoded key: bytes, or a JWK.
type keyData struct {
	bytes []byte
	jwk   *JWK
}

type dictionaries = map[operation][]field

// registry returns the algorithms by their names in lower case. It is built at the first use, so that it does not take
// time when the server starts.
var registry = sync.OnceValue(buildRegistry)

func buildRegistry() map[string]*algorithm {
	all := map[string]*algorithm{}
	for _, list := range [][]*algorithm{digestAlgorithms(), secretAlgorithms(), rsaAlgorithms(), curveAlgorithms(), derivationAlgorithms()} {
		for _, a := range list {
			all[strings.ToLower(a.name)] = a
		}
	}
	return all
}

func findAlgorithm(name string) *algorithm { return registry()[strings.ToLower(name)] }

func digestAlgorithms() []*algorithm {
	var list []*algorithm
	for _, d := range digests {
		if d.web != "" {
			list = append(list, &algorithm{name: d.web, operations: dictionaries{opDigest: nil}})
		}
	}
	return list
}

func secretAlgorithms() []*algorithm {
	encryption := []string{"encrypt", "decrypt", "wrapKey", "unwrapKey"}
	aes := func(name, mode string, usages []string, operations dictionaries) *algorithm {
		a := &algorithm{name: name, operations: operations, use: "enc", generate: generateAES, importKey: importAES(mode), keyLength: aesKeyLength,
			usages: map[string][]string{"secret": usages},
			jwkAlg: func(k *Key) string { return aesJWK(k.material.bits, mode) }}
		for _, op := range []operation{opGenerate, opKeyLength} {
			a.operations[op] = []field{keyLengthField}
		}
		a.operations[opImport], a.operations[opExport] = nil, nil
		return a
	}
	gcm := []field{additionalField, ivField, tagField}
	cbc := aes("AES-CBC", "CBC", encryption, dictionaries{opEncrypt: {ivField}, opDecrypt: {ivField}})
	cbc.encrypt, cbc.decrypt = encryptCBC, decryptCBC
	ctr := aes("AES-CTR", "CTR", encryption, dictionaries{opEncrypt: {counterField, counterLength}, opDecrypt: {counterField, counterLength}})
	ctr.encrypt, ctr.decrypt = cryptCTR, cryptCTR
	galois := aes("AES-GCM", "GCM", encryption, dictionaries{opEncrypt: gcm, opDecrypt: gcm})
	galois.encrypt, galois.decrypt = encryptGCM, decryptGCM
	wrap := aes("AES-KW", "KW", encryption[2:], dictionaries{opWrap: nil, opUnwrap: nil})
	wrap.encrypt, wrap.decrypt = wrapKW, unwrapKW
	return []*algorithm{cbc, ctr, galois, wrap, {
		name: "HMAC", use: "sig", usages: map[string][]string{"secret": {"sign", "verify"}},
		operations: dictionaries{opSign: nil, opVerify: nil, opExport: nil, opGenerate: {hashField, optionalLength},
			opImport: {hashField, optionalLength}, opKeyLength: {hashField, optionalLength}},
		generate: generateHMAC, importKey: importHMAC, keyLength: hmacKeyLength,
		sign: signHMAC, verify: verifyHMAC, jwkAlg: func(k *Key) string { return k.hash.hs },
	}}
}

func rsaAlgorithms() []*algorithm {
	rsa := func(name string, alg func(*digest) string, private, public []string, operations dictionaries) *algorithm {
		a := &algorithm{name: name, operations: operations, use: "sig", generate: generateRSA, importKey: importRSA(alg), isHeavy: isHeavyRSA,
			usages: map[string][]string{"private": private, "public": public},
			jwkAlg: func(k *Key) string { return alg(k.hash) }}
		a.operations[opGenerate] = []field{modulusField, exponentField, hashField}
		a.operations[opImport] = []field{hashField}
		a.operations[opExport] = nil
		return a
	}
	sign, verify := []string{"sign"}, []string{"verify"}
	v15 := rsa("RSASSA-PKCS1-v1_5", func(d *digest) string { return d.rs }, sign, verify, dictionaries{opSign: nil, opVerify: nil})
	v15.sign, v15.verify = signV15, verifyV15
	pss := rsa("RSA-PSS", func(d *digest) string { return d.ps }, sign, verify, dictionaries{opSign: {saltLengthField}, opVerify: {saltLengthField}})
	pss.sign, pss.verify = signPSS, verifyPSS
	oaep := rsa("RSA-OAEP", func(d *digest) string { return d.oaep }, []string{"decrypt", "unwrapKey"}, []string{"encrypt", "wrapKey"},
		dictionaries{opEncrypt: {labelField}, opDecrypt: {labelField}})
	oaep.encrypt, oaep.decrypt, oaep.use = encryptOAEP, decryptOAEP, "enc"
	return []*algorithm{v15, pss, oaep}
}

func curveAlgorithms() []*algorithm {
	signing := map[string][]string{"private": {"sign"}, "public": {"verify"}}
	deriving := map[string][]string{"private": {"deriveKey", "deriveBits"}, "public": {}}
	none := func(*Key) string { return "" }
	return []*algorithm{{
		name: "ECDSA", use: "sig", usages: signing,
		operations: dictionaries{opSign: {hashField}, opVerify: {hashField}, opGenerate: {curveField}, opImport: {curveField}, opExport: nil},
		generate:   generateEC, importKey: importEC(true), sign: signECDSA, verify: verifyECDSA, jwkAlg: none,
	}, {
		name: "ECDH", use: "enc", usages: deriving,
		operations: dictionaries{opDeriveBits: {publicField}, opGenerate: {curveField}, opImport: {curveField}, opExport: nil},
		generate:   generateEC, importKey: importEC(false), deriveBits: deriveECDH, jwkAlg: none,
	}, {
		name: "Ed25519", use: "sig", usages: signing,
		operations: dictionaries{opSign: nil, opVerify: nil, opGenerate: nil, opImport: nil, opExport: nil},
		generate:   generateEd25519, importKey: importOKP("ed25519"), sign: signEd25519, verify: verifyEd25519,
		jwkAlg: func(*Key) string { return "Ed25519" },
	}, {
		name: "X25519", use: "enc", usages: deriving,
		operations: dictionaries{opDeriveBits: {publicField}, opGenerate: nil, opImport: nil, opExport: nil},
		generate:   generateX25519, importKey: importOKP("x25519"), deriveBits: deriveECDH, jwkAlg: none,
	}}
}

func derivationAlgorithms() []*algorithm {
	usages := map[string][]string{"secret": {"deriveKey", "deriveBits"}}
	return []*algorithm{{
		name: "PBKDF2", usages: usages, importKey: importDerivation, deriveBits: derivePBKDF2, keyLength: anyKeyLength,
		operations: dictionaries{opImport: nil, opKeyLength: nil, opDeriveBits: {hashField, iterationsField, saltField}},
		isHeavy:    func(_ operation, p *params, _ *Key) bool { return p.iterations > cheapIterations },
	}, {
		name: "HKDF", usages: usages, importKey: importDerivation, deriveBits: deriveHKDF, keyLength: anyKeyLength,
		operations: dictionaries{opImport: nil, opKeyLength: nil, opDeriveBits: {hashField, infoField, saltField}},
	}}
}
