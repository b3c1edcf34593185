package meta

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"restsrv/engine"
)

// application returns the files of an application that may exist beside the repository.
func application(t *testing.T, name string) fs.FS {
	t.Helper()
	for _, up := range []string{"../../../shared/apps/", "../../../../shared/apps/"} {
		if _, err := os.Stat(up + name); err == nil {
			return os.DirFS(up + name)
		}
	}
	t.Skipf("the application %s is not beside the repository", name)
	return nil
}

// TestLibrary loads the classes of the application in testdata. There must be no faults.
func TestLibrary(t *testing.T) {
	sources, faults := ReadDir(os.DirFS("../../cmd/restsrv/testdata/library"), "meta")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	r, faults := Load(sources, "library")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, c := range []struct{ what, class, name, want string }{
		{what: "mirror, named by the other side", class: "publication", name: "authors", want: "person.written"},
		{what: "mirror", class: "person", name: "written", want: "publication.authors"},
		{what: "back reference", class: "publication", name: "copies", want: "copy.publication"},
		{what: "back reference to the same class", class: "book", name: "previous", want: "book.next"},
		{what: "part of a structure", class: "publication", name: "size$width", want: "publication.size$width"},
		{what: "inherited", class: "comic", name: "title", want: "publication.title"},
	} {
		class, err := r.Class(c.class + "@library")
		if err != nil {
			t.Fatal(err)
		}
		p := class.Property(c.name)
		if p == nil {
			t.Fatalf("class %s: got no attribute %s, want one", c.class, c.name)
		}
		switch {
		case p.Mirror != nil:
			p = p.Mirror
		case p.Back != nil:
			p = p.Back
		}
		if got := strings.TrimSuffix(p.Definition, "@library") + "." + p.Name; got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
	copies, err := r.Class("loan@library")
	if err != nil {
		t.Fatal(err)
	}
	if got := copies.Property("copy").ValueType().String(); got != "string" {
		t.Errorf("a reference to a composite key: got type %s, want string", got)
	}
}

// TestRealApplication loads the classes of a real application. All files must be used, except one of two files that
// describe the same class.
func TestRealApplication(t *testing.T) {
	sources, faults := ReadDir(application(t, "develop-and-test"), "meta")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	types := 0
	for _, s := range sources {
		if s.Type {
			types++
		}
	}
	if classes := len(sources) - types; classes != 163 || types != 1 {
		t.Fatalf("got %d class files and %d types, want 163 and 1", classes, types)
	}
	r, faults := Load(sources, "develop-and-test")
	var duplicates engine.Faults
	for _, f := range faults {
		if f.Level != engine.Warning {
			t.Errorf("got the level %v, want warnings only: %v", f.Level, f)
		}
		if strings.Contains(f.Found, "again") {
			duplicates = append(duplicates, f)
		}
	}
	if len(duplicates) != 1 || duplicates[0].File != "meta/adress.class.json" {
		t.Errorf("duplicates: got %v, want only meta/adress.class.json", duplicates)
	}
	if r == nil {
		t.FailNow()
	}
	if n := len(r.Classes()); n != 162 {
		t.Errorf("got %d classes, want 162", n)
	}
	// One warning is about the two files; the others are about names of one letter in a display string.
	if errs, warnings := faults.Split(false); len(errs) > 0 || len(warnings) != 4 {
		t.Errorf("got the faults %v and %d warnings, want no faults and 4 warnings:\n%v", errs, len(warnings), warnings)
	}
	checkApplication(t, r)
}

// checkApplication checks one example of each kind of definition.
func checkApplication(t *testing.T, r *Repository) {
	t.Helper()
	property := func(class, name string) *engine.Property {
		c, err := r.Class(class + "@develop-and-test")
		if err != nil {
			t.Fatal(err)
		}
		p := c.Property(name)
		if p == nil {
			t.Fatalf("class %s: got no attribute %s, want one", class, name)
		}
		return p
	}
	names := func(p *engine.Property) string {
		if p == nil {
			return "none"
		}
		return strings.TrimSuffix(p.Definition, "@develop-and-test") + "." + p.Name
	}
	for _, c := range []struct{ what, got, want string }{
		{"mirror, named by the other side", names(property("coll_container", "coll_mn").Mirror), "coll_content.collnm"},
		{"mirror", names(property("coll_content", "collnm").Mirror), "coll_container.coll_mn"},
		{"back reference", names(property("otorbrBackRef", "backref").Back), "otorbrRef.ref"},
		{"back reference by a text", names(property("backref_searchRefs", "backref_searchRefs_binding").Back), "searchRefs.code_binding"},
		{"binding", names(property("backref_searchRefs", "backref_searchRefs_binding").Binding), "backref_searchRefs.backref_searchRefs_text"},
		{"part of a structure", names(property("struct", "struct$last_name")), "struct.struct$last_name"},
		{"user type", property("class_custom", "passport").Type.String(), "string"},
		{"composite key", property("refinementSearch_class_b", "referenceToCompositeKey").ValueType().String(), "string"},
		{"latest of two files", engine.ValueText(property("adress", "region").Default), "27"},
		{"inherited", names(property("project", "basicObjs")), "basicObj.basicObjs"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, c.got, c.want)
		}
	}
}
