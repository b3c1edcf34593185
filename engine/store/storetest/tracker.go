package storetest

import "restsrv/engine"

// Tracked returns a class with properties for the time and account of changes.
func Tracked() *engine.Class {
	c := NewClass("tracked", Prop("id", engine.String), Prop("name", engine.String),
		Prop("made", engine.DateTime), Prop("changed", engine.DateTime), Prop("by", engine.User), Prop("editor", engine.User))
	c.CreationTracker, c.ChangeTracker, c.CreatorTracker, c.EditorTracker = "made", "changed", "by", "editor"
	return c
}

// LongAgo is a time before all tests.
const LongAgo = engine.Instant(1_000_000_000_000)
