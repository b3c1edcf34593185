package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/remember"
)

const (
	// rememberFor is how long a verified password or token stays cached.
	rememberFor = 60 * time.Second
	// recheckAfter is the age at which a cached credential is compared with the
	// stored account again.
	recheckAfter = 500 * time.Millisecond
)

// proof is the cache key of a credential. The credential cannot be computed
// from it.
type proof = remember.Key

// remembered is one verified credential. Times are measured from Store.start.
type remembered struct {
	remember.Entry
	account atomic.Pointer[engine.Account] // replaced when Config.Enrich was called
	given   string                         // account name in the request; "" for a token
	token   string                         // id of the token, "" for a password
	checked atomic.Int64                   // time.Duration of the last comparison with the stored account
	busy    chan struct{}                  // held during a comparison
}

type memory = remember.Memory[*remembered]

// prover computes the proofs of passwords, with a random key of this process.
type prover struct{ pool sync.Pool }

type provingState struct {
	mac hash.Hash
	buf []byte
}

func newProver() *prover {
	key := make([]byte, sha256.Size)
	rand.Read(key)
	return &prover{pool: sync.Pool{New: func() any {
		return &provingState{mac: hmac.New(sha256.New, key)}
	}}}
}

func (p *prover) prove(account, password string) (sum proof) {
	s := p.pool.Get().(*provingState)
	s.mac.Reset()
	s.buf = binary.AppendUvarint(s.buf[:0], uint64(len(account)))
	s.buf = append(append(s.buf, account...), password...)
	s.mac.Write(s.buf)
	clear(s.buf)
	s.buf = s.mac.Sum(s.buf[:0])
	copy(sum[:], s.buf)
	p.pool.Put(s)
	return sum
}
