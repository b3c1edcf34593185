package webcrypto

import (
	"encoding/pem"
	"errors"
)

// errNotPEM is the error for a text without a key.
var errNotPEM = errors.New("the text has no key in the format PEM")

// maxPEM is the maximum length of a text in the format PEM in bytes.
const maxPEM = 64 << 10

// ParsePEM reads the first key or certificate in a text.
func ParsePEM(text []byte) (*Material, error) {
	if len(text) > maxPEM {
		return nil, errKeyTooLong
	}
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errNotPEM
		}
		if block.Headers["DEK-Info"] != "" {
			return nil, errEncrypted
		}
		switch block.Type {
		case "PRIVATE KEY":
			return ParsePKCS8(block.Bytes)
		case "PUBLIC KEY":
			return ParseSPKI(block.Bytes)
		case "RSA PRIVATE KEY", "RSA PUBLIC KEY":
			return ParsePKCS1(block.Bytes, block.Type == "RSA PRIVATE KEY")
		case "EC PRIVATE KEY":
			return ParseSEC1(block.Bytes)
		case "CERTIFICATE":
			return ParseCertificate(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, errEncrypted
		}
		text = rest // such as EC PARAMETERS
	}
}

var errEncrypted = errors.New("encrypted private keys are not supported; decrypt the key with openssl pkcs8")

// Encode returns the key in a format of Node.js: the type is pkcs1, pkcs8, sec1 or spki. ok is false if keys of this
// kind do not have the format. label is the title of the key in PEM.
func (m *Material) Encode(format string) (der []byte, label string, ok bool) {
	var err error
	switch kind := m.Type(); {
	case format == "pkcs8" && kind == "private":
		der, err = m.PKCS8()
		return der, "PRIVATE KEY", err == nil
	case format == "spki" && kind == "public":
		der, err = m.SPKI()
		return der, "PUBLIC KEY", err == nil
	case format == "sec1" && kind == "private":
		der, ok = m.SEC1()
		return der, "EC PRIVATE KEY", ok
	case format == "pkcs1" && kind == "private":
		der, ok = m.PKCS1()
		return der, "RSA PRIVATE KEY", ok
	case format == "pkcs1" && kind == "public":
		der, ok = m.PKCS1()
		return der, "RSA PUBLIC KEY", ok
	}
	return nil, "", false
}

// EncodePEM returns bytes in the format PEM.
func EncodePEM(label string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
}
