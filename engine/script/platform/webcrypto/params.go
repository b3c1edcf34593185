package webcrypto

import (
	"math"
	"slices"
)

// Value is a JavaScript value that a script passed. Its methods may run code of the script, and panic if it throws.
type Value interface {
	// IsUndefined reports whether the value is undefined.
	IsUndefined() bool
	// IsObject reports whether the value is an object.
	IsObject() bool
	// Get returns a member of an object.
	Get(name string) Value
	// String returns the value converted to a string.
	String() string
	// Number returns the value converted to a number.
	Number() float64
	// Bool returns the value converted to a boolean.
	Bool() bool
	// Bytes returns the bytes of an ArrayBuffer or a view, which the script may change later. ok is false for any
	// other value.
	Bytes() (b []byte, ok bool)
	// List returns the elements of an iterable object. ok is false for any other value.
	List() (list []Value, ok bool)
	// Key returns the key of a CryptoKey, or nil.
	Key() *Key
}

// params are the parameters of an operation: the members of the dictionary that the standard defines for the
// algorithm and the operation. It has no values for members that the dictionary does not have.
type params struct {
	alg      *algorithm
	hash     *digest
	curve    *curve
	public   *Key
	length   uint32
	exponent []byte

	hasLength, hasTagLength                        bool
	tagLength, saltLength, iterations, modulus     uint32
	iv, additional, counter, label, salt, infoText []byte
}

// size returns the total length of the members that are bytes.
func (p *params) size() int {
	return len(p.iv) + len(p.additional) + len(p.counter) + len(p.label) + len(p.salt) + len(p.infoText) + len(p.exponent)
}

// field is a member of a dictionary.
type field struct {
	name     string
	required bool
	read     func(p *params, v Value, name string) error
}

// bytesField returns a member of the type BufferSource. The bytes are copied.
func bytesField(name string, required bool, at func(*params) *[]byte) field {
	return field{name, required, func(p *params, v Value, name string) error {
		b, ok := v.Bytes()
		if !ok {
			return typeError(codeType, "%s: expected an ArrayBuffer, a typed array or a DataView", name)
		}
		*at(p) = append(make([]byte, 0, len(b)), b...)
		return nil
	}}
}

// numberField returns a member that is an integer from 0 to most. The function at returns the places for the number,
// and for the information that it is present, which may be nil.
func numberField(name string, required bool, most float64, at func(*params) (*uint32, *bool)) field {
	return field{name, required, func(p *params, v Value, name string) error {
		n := math.Trunc(v.Number())
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return typeError(codeType, "%s: expected a number", name)
		}
		if n < 0 || n > most {
			return typeError(codeRange, "%s: expected an integer from 0 to %.0f", name, most)
		}
		number, present := at(p)
		*number = uint32(n)
		if present != nil {
			*present = true
		}
		return nil
	}}
}

// The greatest values of the integer types of the standard.
const (
	maxOctet = math.MaxUint8
	maxShort = math.MaxUint16
	maxLong  = math.MaxUint32
)

// The members that the dictionaries of the standard have.
var (
	hashField = field{"hash", true, func(p *params, v Value, _ string) error {
		name, err := algorithmName(v)
		if err != nil {
			return err
		}
		if p.hash = webDigest(name); p.hash == nil {
			return failure(notSupportedError, "Unrecognized hash algorithm %q", name)
		}
		return nil
	}}
	curveField = field{"namedCurve", true, func(p *params, v Value, _ string) error {
		name := v.String()
		if p.curve = findCurve(name); p.curve == nil || p.curve.name != name {
			return failure(notSupportedError, "Unrecognized namedCurve %q; supported are P-256, P-384 and P-521", name)
		}
		return nil
	}}
	publicField = field{"public", true, func(p *params, v Value, name string) error {
		if p.public = v.Key(); p.public == nil {
			return typeError(codeType, "%s: expected a CryptoKey", name)
		}
		return nil
	}}
	ivField         = bytesField("iv", true, func(p *params) *[]byte { return &p.iv })
	additionalField = bytesField("additionalData", false, func(p *params) *[]byte { return &p.additional })
	counterField    = bytesField("counter", true, func(p *params) *[]byte { return &p.counter })
	labelField      = bytesField("label", false, func(p *params) *[]byte { return &p.label })
	saltField       = bytesField("salt", true, func(p *params) *[]byte { return &p.salt })
	infoField       = bytesField("info", true, func(p *params) *[]byte { return &p.infoText })
	exponentField   = bytesField("publicExponent", true, func(p *params) *[]byte { return &p.exponent })
	tagField        = numberField("tagLength", false, maxOctet, func(p *params) (*uint32, *bool) { return &p.tagLength, &p.hasTagLength })
	saltLengthField = numberField("saltLength", true, maxLong, func(p *params) (*uint32, *bool) { return &p.saltLength, nil })
	iterationsField = numberField("iterations", true, maxLong, func(p *params) (*uint32, *bool) { return &p.iterations, nil })
	modulusField    = numberField("modulusLength", true, maxLong, func(p *params) (*uint32, *bool) { return &p.modulus, nil })
	optionalLength  = lengthField(false, maxLong)
	keyLengthField  = lengthField(true, maxShort)
	counterLength   = lengthField(true, maxOctet)
)

func lengthField(required bool, most float64) field {
	return numberField("length", required, most, func(p *params) (*uint32, *bool) { return &p.length, &p.hasLength })
}

// algorithmName returns the name in an AlgorithmIdentifier: a string, or an object with the member name.
func algorithmName(v Value) (string, error) {
	if !v.IsObject() {
		return v.String(), nil
	}
	name := v.Get("name")
	if name.IsUndefined() {
		return "", typeError(codeMissing, "The algorithm has no member name")
	}
	return name.String(), nil
}

// normalize converts an AlgorithmIdentifier to the parameters of an operation. It fails with a NotSupportedError if
// the algorithm does not support the operation.
func normalize(op operation, v Value) (*params, error) {
	name, err := algorithmName(v)
	if err != nil {
		return nil, err
	}
	alg := findAlgorithm(name)
	if alg == nil {
		return nil, failure(notSupportedError, "Unrecognized algorithm name %q", name)
	}
	fields, ok := alg.operations[op]
	if !ok {
		return nil, failure(notSupportedError, "The algorithm %s does not support %s", alg.name, op)
	}
	p := &params{alg: alg}
	for _, f := range fields {
		var member Value
		if v.IsObject() {
			if member = v.Get(f.name); member.IsUndefined() {
				member = nil
			}
		}
		if member == nil && f.required {
			return nil, typeError(codeMissing, "The algorithm %s requires the member %s", alg.name, f.name)
		}
		if member != nil {
			if err := f.read(p, member, alg.name+"."+f.name); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// readUsages converts the argument keyUsages. The result has each usage once.
func readUsages(v Value) ([]string, error) {
	list, ok := v.List()
	if !ok {
		return nil, typeError(codeType, "keyUsages: expected a list")
	}
	var usages []string
	for _, one := range list {
		u := one.String()
		if !slices.Contains(allUsages, u) {
			return nil, typeError(codeValue, "keyUsages: %q is not a usage; the usages are %v", u, allUsages)
		}
		if !slices.Contains(usages, u) {
			usages = append(usages, u)
		}
	}
	return usages, nil
}
