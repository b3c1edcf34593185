// Package secret stores random keys in the database, so that all processes
// share them and they survive a restart. Use it for keys that the server
// generates. Passwords and tokens belong to engine/account.
package secret

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"restsrv/engine"
)

// Size is the length of a key in bytes.
const Size = 32

// className is the name of the system class. No class of an application can have this name.
const className = "#secret"

// Class returns the system class in which the keys are stored. The caller
// passes it to the store when it opens the store, and to Key. No other code
// should read or write items of this class.
func Class() *engine.Class {
	return engine.SystemClass(className, engine.SystemProperty("id", engine.String), engine.SystemProperty("value", engine.String)) // hex
}

// Key returns the key with that name. The first call creates it. If several
// processes call it at the same time, they get the same key.
func Key(ctx context.Context, data engine.Repository, c *engine.Class, name string) ([]byte, error) {
	it, err := data.Get(ctx, c, name)
	for err != nil && engine.CodeOf(err) == engine.NotFound {
		key := make([]byte, Size)
		rand.Read(key) // never fails
		v := engine.ValuesOf(c, engine.Named("id", name), engine.Named("value", hex.EncodeToString(key)))
		if it, err = data.Create(ctx, c, v, engine.WriteOptions{}); !engine.IsDuplicate(err) {
			break
		}
		// Another process was faster. Its key may become visible a little
		// later.
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		it, err = data.Get(ctx, c, name)
	}
	if err != nil {
		return nil, err
	}
	text, _ := it.Get("value").(string)
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != Size {
		return nil, engine.Errorf(engine.Internal, "internal", "the key %s in the database is damaged", name)
	}
	return key, nil
}
