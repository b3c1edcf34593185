package store

import (
	"crypto/rand"
	"encoding/hex"

	"restsrv/engine"
)

// secretTable holds random keys that all processes of a database share.
const (
	secretTable = `"##secret"`
	secretDDL   = `CREATE TABLE IF NOT EXISTS ` + secretTable + ` ("name" TEXT PRIMARY KEY, "value" TEXT NOT NULL)`
	cursorName  = "cursor"
)

// CursorKey is the key that seals positions in lists of this database, made
// when the database was.
func (s *Store) CursorKey() engine.CursorKey { return s.cursorKey }

// secret reads a key, or makes it.
func (u *upgrader) secret(name string) (engine.CursorKey, error) {
	if err := u.exec(secretDDL); err != nil {
		return nil, err
	}
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // it never fails
	b := newBuilder(u.traits)
	b.add("INSERT INTO ", secretTable, ` ("name", "value") VALUES (`)
	b.bind(name)
	b.add(", ")
	b.bind(hex.EncodeToString(fresh))
	b.add(`) ON CONFLICT ("name") DO NOTHING`)
	if _, err := u.conn.ExecContext(u.ctx, b.text(), b.args...); err != nil {
		return nil, err
	}
	var text string
	if err := u.conn.GetContext(u.ctx, &text, `SELECT "value" FROM `+secretTable+` WHERE "name" = `+quoteText(name)); err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}
