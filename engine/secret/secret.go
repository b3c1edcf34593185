// Package secret keeps random keys in the database, so that all processes on
// it have the same ones and a restart changes none. It is for keys that the
// server makes for itself; passwords and tokens are engine/account's.
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

// className is no name that a class of an application can have.
const className = "#secret"

// Class builds the system class of the keys. Open the store with it, and show
// it to nobody else.
func Class() *engine.Class {
	return engine.SystemClass(className, engine.SystemProperty("id", engine.String), engine.SystemProperty("value", engine.String)) // hex
}

// Key returns the key of that name, made when it is first asked for; whoever
// asks at the same time gets the same one.
func Key(ctx context.Context, data engine.Repository, c *engine.Class, name string) ([]byte, error) {
	it, err := data.Get(ctx, c, name)
	for err != nil && engine.CodeOf(err) == engine.NotFound {
		key := make([]byte, Size)
		rand.Read(key) // never fails
		v := engine.ValuesOf(c, engine.Named("id", name), engine.Named("value", hex.EncodeToString(key)))
		if it, err = data.Create(ctx, c, v, engine.WriteOptions{}); engine.CodeOf(err) != engine.Invalid || err == nil {
			break
		}
		// Somebody was faster; the key may be seen a little later.
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
