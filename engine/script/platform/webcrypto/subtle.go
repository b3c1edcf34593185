package webcrypto

import (
	"encoding/json"
	"slices"
)

// Job is a call of a method of SubtleCrypto. Its arguments are converted and checked.
type Job struct {
	Heavy bool // the operation may take more than a millisecond
	Bytes int  // memory that the copied arguments take
	// Run executes the operation. If the Job is heavy, another goroutine may call it. The result is bytes, a bool, a
	// *Key, a *KeyPair or a list of members, which stands for a JWK.
	Run func(*Meter) (any, error)
}

// cheapBytes is the number of bytes that any operation processes in less than a millisecond.
const cheapBytes = 64 << 10

// method is a method of SubtleCrypto.
type method struct {
	arguments int // number of required arguments
	prepare   func(args []Value) (*Job, error)
}

var methods = map[string]method{
	"encrypt":     {3, prepareCrypt(opEncrypt)},
	"decrypt":     {3, prepareCrypt(opDecrypt)},
	"sign":        {3, prepareSign},
	"verify":      {4, prepareVerify},
	"digest":      {2, prepareDigest},
	"generateKey": {3, prepareGenerate},
	"importKey":   {5, prepareImport},
	"exportKey":   {2, prepareExport},
	"deriveBits":  {3, prepareDeriveBits},
	"deriveKey":   {5, prepareDeriveKey},
	"wrapKey":     {4, prepareWrap},
	"unwrapKey":   {7, prepareUnwrap},
}

// Methods returns the names of the methods of SubtleCrypto with the number of their arguments.
func Methods() map[string]int {
	all := map[string]int{}
	for name, m := range methods {
		all[name] = m.arguments
	}
	all["deriveBits"] = 2 // the argument length may be missing
	return all
}

// Prepare converts the arguments of a method of SubtleCrypto. Its errors have the type *Error.
func Prepare(name string, args []Value) (*Job, error) {
	m := methods[name]
	least := m.arguments
	if name == "deriveBits" {
		least--
	}
	if len(args) < least {
		return nil, typeError("ERR_MISSING_ARGS", "Failed to execute '%s' on 'SubtleCrypto': %d arguments required, but only %d present", name, least, len(args))
	}
	return m.prepare(args)
}

// newJob returns a job that processes data. If it is heavy, the job gets a copy of data.
func newJob(p *params, k *Key, op operation, data []byte, run func(m *Meter, data []byte) (any, error)) *Job {
	job := &Job{Heavy: len(data)+p.size() > cheapBytes || p.alg.isHeavy != nil && p.alg.isHeavy(op, p, k)}
	if job.Heavy {
		data = slices.Clone(data)
	}
	job.Bytes = len(data) + p.size()
	job.Run = func(m *Meter) (any, error) { return run(m, data) }
	return job
}

func needKey(v Value, name string) (*Key, error) {
	if k := v.Key(); k != nil {
		return k, nil
	}
	return nil, typeError(codeType, "%s: expected a CryptoKey", name)
}

func needBytes(v Value, name string) ([]byte, error) {
	if b, ok := v.Bytes(); ok {
		return b, nil
	}
	return nil, typeError(codeType, "%s: expected an ArrayBuffer, a typed array or a DataView", name)
}

// checkKey fails if a key does not belong to the algorithm, or if its usages do not have the usage.
func checkKey(p *params, k *Key, usage string) error {
	if k.algorithm != p.alg.name {
		return failure(invalidAccessError, "Key algorithm mismatch: the key is for %s, not for %s", k.algorithm, p.alg.name)
	}
	if !k.mayBeUsedFor(usage) {
		return failure(invalidAccessError, "Unable to use this key to %s", usage)
	}
	return nil
}

// readOperation converts the arguments algorithm and key, and the bytes in the other arguments.
func readOperation(op operation, args []Value, names ...string) (p *params, k *Key, data [][]byte, err error) {
	if k, err = needKey(args[1], "key"); err != nil {
		return nil, nil, nil, err
	}
	for i, name := range names {
		b, err := needBytes(args[2+i], name)
		if err != nil {
			return nil, nil, nil, err
		}
		data = append(data, b)
	}
	if p, err = normalize(op, args[0]); err != nil {
		return nil, nil, nil, err
	}
	return p, k, data, checkKey(p, k, string(op))
}

func prepareCrypt(op operation) func(args []Value) (*Job, error) {
	return func(args []Value) (*Job, error) {
		p, k, data, err := readOperation(op, args, "data")
		if err != nil {
			return nil, err
		}
		crypt := p.alg.encrypt
		if op == opDecrypt {
			crypt = p.alg.decrypt
		}
		return newJob(p, k, op, data[0], func(m *Meter, data []byte) (any, error) { return crypt(m, p, k, data) }), nil
	}
}

func prepareSign(args []Value) (*Job, error) {
	p, k, data, err := readOperation(opSign, args, "data")
	if err != nil {
		return nil, err
	}
	return newJob(p, k, opSign, data[0], func(m *Meter, data []byte) (any, error) { return p.alg.sign(m, p, k, data) }), nil
}

func prepareVerify(args []Value) (*Job, error) {
	p, k, data, err := readOperation(opVerify, args, "signature", "data")
	if err != nil {
		return nil, err
	}
	signature := slices.Clone(data[0][:min(len(data[0]), maxEncoded)])
	if len(data[0]) > len(signature) {
		signature = nil // longer than any signature, so it is not valid
	}
	return newJob(p, k, opVerify, data[1], func(m *Meter, data []byte) (any, error) { return p.alg.verify(m, p, k, signature, data) }), nil
}

func prepareDigest(args []Value) (*Job, error) {
	data, err := needBytes(args[1], "data")
	if err != nil {
		return nil, err
	}
	p, err := normalize(opDigest, args[0])
	if err != nil {
		return nil, err
	}
	return newJob(p, nil, opDigest, data, func(m *Meter, data []byte) (any, error) { return webDigest(p.alg.name).sum(m, data) }), nil
}

// newKey returns a key with those of the usages that its type supports.
func newKey(p *params, m *Material, extractable bool, usages []string) *Key {
	return &Key{material: m, extractable: extractable, usages: intersect(usages, p.alg.usages[m.Type()]...), algorithm: p.alg.name, hash: keyHash(p)}
}

// keyHash returns the hash that belongs to keys, or nil if the hash is a parameter of signatures.
func keyHash(p *params) *digest {
	if p.alg.name == "ECDSA" {
		return nil
	}
	return p.hash
}

func prepareGenerate(args []Value) (*Job, error) {
	extractable := args[1].Bool()
	usages, err := readUsages(args[2])
	if err != nil {
		return nil, err
	}
	p, err := normalize(opGenerate, args[0])
	if err != nil {
		return nil, err
	}
	return newJob(p, nil, opGenerate, nil, func(*Meter, []byte) (any, error) { return generateKey(p, extractable, usages) }), nil
}

func generateKey(p *params, extractable bool, usages []string) (any, error) {
	var supported []string
	for _, list := range p.alg.usages {
		supported = append(supported, list...)
	}
	if err := checkUsages(usages, supported...); err != nil {
		return nil, err
	}
	secret := p.alg.usages["secret"] != nil
	if secret && len(usages) == 0 || !secret && len(intersect(usages, p.alg.usages["private"]...)) == 0 {
		return nil, failure(syntaxError, "Usages cannot be empty when creating a key")
	}
	m, err := p.alg.generate(p)
	if err != nil {
		return nil, err
	}
	if secret {
		return newKey(p, m, extractable, usages), nil
	}
	return &KeyPair{Public: newKey(p, m.Public(), true, usages), Private: newKey(p, m, extractable, usages)}, nil
}

// formats are the formats of keys.
var formats = []string{"raw", "pkcs8", "spki", "jwk"}

func readFormat(v Value) (string, error) {
	format := v.String()
	if !slices.Contains(formats, format) {
		return "", typeError(codeValue, "format: %q is not a format of keys; the formats are %v", format, formats)
	}
	return format, nil
}

func prepareImport(args []Value) (*Job, error) {
	format, err := readFormat(args[0])
	if err != nil {
		return nil, err
	}
	var data keyData
	if format == "jwk" {
		if _, ok := args[1].Bytes(); ok {
			return nil, typeError(codeType, "keyData: expected a JSON Web Key")
		}
		data.jwk, err = ReadJWK(args[1])
	} else {
		data.bytes, err = needBytes(args[1], "keyData")
	}
	if err != nil {
		return nil, err
	}
	extractable := args[3].Bool()
	usages, err := readUsages(args[4])
	if err != nil {
		return nil, err
	}
	p, err := normalize(opImport, args[2])
	if err != nil {
		return nil, err
	}
	run := func(_ *Meter, b []byte) (any, error) {
		data.bytes = b
		return importKey(p, format, data, extractable, usages)
	}
	job := newJob(p, nil, opImport, data.bytes, run)
	return job, nil
}

// importKey reads a key and checks its usages. It fails with a SyntaxError if a secret or private key has no usages.
func importKey(p *params, format string, data keyData, extractable bool, usages []string) (*Key, error) {
	// The formats that contain the type of the key fail for wrong usages before the key is read.
	kind := map[string]string{"pkcs8": "private", "spki": "public"}[format]
	if p.alg.usages["secret"] != nil {
		kind = "secret"
	} else if format == "raw" {
		kind = "public"
	} else if format == "jwk" {
		kind = "public"
		if _, ok := data.jwk.text["d"]; ok {
			kind = "private"
		}
	}
	if err := checkUsages(usages, p.alg.usages[kind]...); err != nil {
		return nil, err
	}
	if format == "raw" && p.alg.isHeavy != nil && p.alg.usages["public"] != nil {
		return nil, failure(notSupportedError, "Unable to import a key of %s in the format raw", p.alg.name)
	}
	if data.jwk != nil {
		if err := data.jwk.checkUse(p.alg.use, extractable, usages); err != nil {
			return nil, err
		}
	}
	m, err := p.alg.importKey(p, format, data)
	if err != nil {
		return nil, err
	}
	if p.alg.keyLength != nil && p.alg.generate == nil && extractable {
		return nil, failure(syntaxError, "A key of %s must not be extractable", p.alg.name)
	}
	if m.Type() != "public" && len(usages) == 0 {
		return nil, failure(syntaxError, "Usages cannot be empty when importing a %s key.", m.Type())
	}
	return newKey(p, m, extractable, usages), nil
}

func prepareExport(args []Value) (*Job, error) {
	format, err := readFormat(args[0])
	if err != nil {
		return nil, err
	}
	k, err := needKey(args[1], "key")
	if err != nil {
		return nil, err
	}
	return &Job{Run: func(*Meter) (any, error) { return exportKey(k, format) }}, nil
}

// exportKey returns the bytes of a key, or the members of a JWK if the format is jwk. It fails if the key may not be
// exported.
func exportKey(k *Key, format string) (any, error) {
	alg := findAlgorithm(k.algorithm)
	if _, ok := alg.operations[opExport]; !ok {
		return nil, failure(notSupportedError, "Unable to export a key of %s", k.algorithm)
	}
	if !k.extractable {
		return nil, failure(invalidAccessError, "key is not extractable")
	}
	isRSA := k.material.Family() == "rsa"
	switch kind := k.Type(); {
	case format == "jwk":
		list, err := k.material.JWK()
		if err != nil {
			return nil, failure(notSupportedError, "%v", err)
		}
		if name := alg.jwkAlg(k); name != "" {
			list = append(list, Member{"alg", name})
		}
		return append(list, Member{"key_ops", k.Usages()}, Member{"ext", true}), nil
	case format == "raw" && kind == "secret":
		return slices.Clone(k.material.secret), nil
	case format == "raw" && kind == "public" && !isRSA:
		return exported(k.material.raw())
	case format == "spki" && kind == "public":
		return exported(k.material.SPKI())
	case format == "pkcs8" && kind == "private":
		return exported(k.material.PKCS8())
	case kind == "secret" || format == "raw" && isRSA:
		return nil, failure(notSupportedError, "Unable to export a %s key of %s using format %s", kind, k.algorithm, format)
	}
	return nil, failure(invalidAccessError, "Unable to export a %s key of %s using format %s", k.Type(), k.algorithm, format)
}

func exported(b []byte, err error) (any, error) {
	if err != nil {
		return nil, failure(operationError, "Unable to export the key")
	}
	return slices.Clone(b), nil
}

func prepareDeriveBits(args []Value) (*Job, error) {
	k, err := needKey(args[1], "baseKey")
	if err != nil {
		return nil, err
	}
	var length *uint32
	if len(args) > 2 && !args[2].IsUndefined() && !isNull(args[2]) {
		var p params
		f := lengthField(true, maxLong)
		if err := f.read(&p, args[2], "length"); err != nil {
			return nil, err
		}
		length = &p.length
	}
	p, err := normalize(opDeriveBits, args[0])
	if err != nil {
		return nil, err
	}
	if err := checkKey(p, k, "deriveBits"); err != nil {
		return nil, err
	}
	return newJob(p, k, opDeriveBits, nil, func(m *Meter, _ []byte) (any, error) { return p.alg.deriveBits(m, p, k, length) }), nil
}

// isNull reports whether a value is null.
func isNull(v Value) bool { return !v.IsObject() && v.String() == "null" }

func prepareDeriveKey(args []Value) (*Job, error) {
	k, err := needKey(args[1], "baseKey")
	if err != nil {
		return nil, err
	}
	extractable := args[3].Bool()
	usages, err := readUsages(args[4])
	if err != nil {
		return nil, err
	}
	p, err := normalize(opDeriveBits, args[0])
	if err != nil {
		return nil, err
	}
	target, err := normalize(opImport, args[2])
	if err != nil {
		return nil, err
	}
	length, err := normalize(opKeyLength, args[2])
	if err != nil {
		return nil, err
	}
	if err := checkKey(p, k, "deriveKey"); err != nil {
		return nil, err
	}
	bits, err := length.alg.keyLength(length)
	if err != nil {
		return nil, err
	}
	return newJob(p, k, opDeriveBits, nil, func(m *Meter, _ []byte) (any, error) {
		secret, err := p.alg.deriveBits(m, p, k, bits)
		if err != nil {
			return nil, err
		}
		return importKey(target, "raw", keyData{bytes: secret}, extractable, usages)
	}), nil
}

// normalizeWrapping converts the algorithm of wrapKey or unwrapKey. Algorithms without these operations use the
// operation of the parameter other.
func normalizeWrapping(op, other operation, v Value) (*params, error) {
	name, err := algorithmName(v)
	if err != nil {
		return nil, err
	}
	if a := findAlgorithm(name); a != nil {
		if _, ok := a.operations[op]; ok {
			other = op
		}
	}
	return normalize(other, v)
}

func prepareWrap(args []Value) (*Job, error) {
	format, err := readFormat(args[0])
	if err != nil {
		return nil, err
	}
	k, err := needKey(args[1], "key")
	if err != nil {
		return nil, err
	}
	wrapping, err := needKey(args[2], "wrappingKey")
	if err != nil {
		return nil, err
	}
	p, err := normalizeWrapping(opWrap, opEncrypt, args[3])
	if err != nil {
		return nil, err
	}
	if err := checkKey(p, wrapping, "wrapKey"); err != nil {
		return nil, err
	}
	return newJob(p, wrapping, opWrap, nil, func(m *Meter, _ []byte) (any, error) {
		out, err := exportKey(k, format)
		if err != nil {
			return nil, err
		}
		b, ok := out.([]byte)
		if !ok {
			b = marshalJWK(out.([]Member), p.alg.name == "AES-KW")
		}
		return p.alg.encrypt(m, p, wrapping, b)
	}), nil
}

// marshalJWK returns the JSON text of a JWK. If blocks is true, spaces fill it up to a multiple of 8 bytes.
func marshalJWK(list []Member, blocks bool) []byte {
	b := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(m.Name)
		value, _ := json.Marshal(m.Value)
		b = append(append(append(b, name...), ':'), value...)
	}
	b = append(b, '}')
	for blocks && len(b)%8 != 0 {
		b = append(b, ' ')
	}
	return b
}

func prepareUnwrap(args []Value) (*Job, error) {
	format, err := readFormat(args[0])
	if err != nil {
		return nil, err
	}
	wrapped, err := needBytes(args[1], "wrappedKey")
	if err != nil {
		return nil, err
	}
	k, err := needKey(args[2], "unwrappingKey")
	if err != nil {
		return nil, err
	}
	extractable := args[5].Bool()
	usages, err := readUsages(args[6])
	if err != nil {
		return nil, err
	}
	p, err := normalizeWrapping(opUnwrap, opDecrypt, args[3])
	if err != nil {
		return nil, err
	}
	target, err := normalize(opImport, args[4])
	if err != nil {
		return nil, err
	}
	if err := checkKey(p, k, "unwrapKey"); err != nil {
		return nil, err
	}
	return newJob(p, k, opUnwrap, wrapped, func(m *Meter, wrapped []byte) (any, error) {
		b, err := p.alg.decrypt(m, p, k, wrapped)
		if err != nil {
			return nil, err
		}
		data := keyData{bytes: b}
		if format == "jwk" {
			if data.jwk, err = parseJWK(b); err != nil {
				return nil, err
			}
		}
		return importKey(target, format, data, extractable, usages)
	}), nil
}
