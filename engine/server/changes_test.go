package server

import (
	"path/filepath"
	"slices"
	"testing"

	"restsrv/engine"
)

// TestDatabaseChanges compares the classes of two applications.
func TestDatabaseChanges(t *testing.T) {
	classes := func(text string) []*engine.Class {
		a, err := LoadApplication(filepath.Join(writeApplication(t, map[string]string{"deploy.json": `{"namespace": "s", "classes": [` + text + `]}`}), "deploy.json"), false)
		if err != nil {
			t.Fatal(err)
		}
		return a.Meta.Classes()
	}
	before := classes(`{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string"}, {"name": "old", "type": "int"}, {"name": "size", "type": "int"}]},
		{"name": "gone", "key": ["id"], "properties": [{"name": "id", "type": "string"}]}`)
	after := classes(`{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "title", "type": "string", "indexed": true}, {"name": "size", "type": "decimal"}, {"name": "due", "type": "datetime"}]},
		{"name": "task", "key": ["id"], "properties": [{"name": "id", "type": "string"}]}`)
	want := []string{"index on note@s.title added", "attribute note@s.size has another type", "attribute note@s.due added", "attribute note@s.old is not used any more, its values stay stored",
		"class task@s added", "class gone@s is not used any more, its objects stay stored"}
	if got := databaseChanges(before, after); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := databaseChanges(after, after); got != nil {
		t.Errorf("the same classes: got %q, want no changes", got)
	}
}
