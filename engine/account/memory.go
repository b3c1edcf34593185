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
	// rememberFor is how long a verified password or token is remembered.
	rememberFor = 60 * time.Second
	// recheckAfter is how long a remembered one is believed before the stored
	// account is looked at again.
	recheckAfter = 500 * time.Millisecond
)

// proof is what credentials are remembered by: it cannot be turned back.
type proof = remember.Key

// remembered is one verified credential. Times are counted from Store.start.
type remembered struct {
	remember.Entry
	account atomic.Pointer[engine.Account] // another one whenever Config.Enrich was asked
	given   string                         // account name as it was given; "" for a token
	token   string                         // id of the token, "" for a password
	checked atomic.Int64                   // time.Duration of the last look at the stored account
	busy    chan struct{}                  // held while somebody looks
}

type memory = remember.Memory[*remembered]

// prover makes the proofs of passwords, with a key that only this process
// knows.
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
