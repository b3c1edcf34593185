package storetest

import "restsrv/engine"

// Tracked returns a class that records the time and the account of the creation and of the last change of an item.
func Tracked() *engine.Class {
	c := NewClass("tracked", Prop("id", engine.String), Prop("name", engine.String),
		Prop("made", engine.DateTime), Prop("changed", engine.DateTime), Prop("by", engine.User), Prop("editor", engine.User))
	c.CreationTracker, c.ChangeTracker, c.CreatorTracker, c.EditorTracker = "made", "changed", "by", "editor"
	return c
}

// LongAgo is a time before the tests run.
const LongAgo = engine.Instant(1_000_000_000_000)
