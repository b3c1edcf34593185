package types

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
)

func class(name, namespace string, properties ...*engine.Property) *engine.Class {
	return &engine.Class{Name: name, Namespace: namespace, FullName: engine.FullName(name, namespace), Caption: "A */ caption", Properties: properties}
}

func declared(t *testing.T, classes ...*engine.Class) string {
	t.Helper()
	for _, c := range classes {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := Declarations(classes)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Declarations(classes); !bytes.Equal(text, again) {
		t.Error("the same classes resulted in another text")
	}
	return string(text)
}

// TestDeclarations checks the types of attributes. TestTypes in cmd/restsrv/clients checks that the text compiles.
func TestDeclarations(t *testing.T) {
	key := &engine.Property{Name: "id", Type: engine.GUID, Autoassigned: true}
	list := &engine.Selection{Rows: []engine.SelectionRow{{Values: []engine.SelectionValue{{Key: "a"}, {Key: "b\"\\\n"}}}, {Values: []engine.SelectionValue{{Key: "a"}}}}}
	c := class("note", "demo", key,
		&engine.Property{Name: "title", Type: engine.String, Caption: "Title"},
		&engine.Property{Name: "kind", Type: engine.String, Nullable: true, Selection: list},
		&engine.Property{Name: "get", Type: engine.Int, Nullable: true},
		&engine.Property{Name: "odd name", Type: engine.Boolean, Nullable: true},
		&engine.Property{Name: "secret", Type: engine.Password, Nullable: true},
		&engine.Property{Name: "place$street", Type: engine.String, Nullable: true})
	c.Key = []string{"id"}
	text := declared(t, c)
	for _, want := range []string{
		`"note@demo": {`, `"note": Classes["note@demo"];`,
		"/** Title */\n    readonly title: string;",
		`readonly kind: "a" | "b\"\\\n" | null;`,
		`readonly "odd name": boolean | null;`,
		"    id?: string | number | null;", "    title: string | number;", "    secret?: string | number | null;",
		`structs: "place";`, "place?: { [attribute: string]: unknown };",
		"/** note@demo. A * / caption */",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text[strings.Index(text, "interface Classes"):])
		}
	}
	for _, unwanted := range []string{"readonly get: Int", "readonly secret"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the text contains %s, want it not to", unwanted)
		}
	}
}

// TestNames: classes with the same name, or with names that become the same identifier, have different types.
func TestNames(t *testing.T) {
	one, other, third := class("a-b", "x"), class("a_b", "x"), class("a_b", "y")
	for _, c := range []*engine.Class{one, other, third} {
		c.Properties = []*engine.Property{{Name: "id", Type: engine.GUID}}
		c.Key = []string{"id"}
	}
	text := declared(t, one, other, third)
	for _, want := range []string{
		"interface class_a_b_x extends Item<\"a-b@x\">", "interface class_a_b_x_2 extends Item<\"a_b@x\">", "interface class_a_b_y extends",
		`"a-b": Classes["a-b@x"];`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, `"a_b": Classes`) {
		t.Error("the short name of classes in two namespaces stands for one of them")
	}
}

func TestMethodsAndGlobals(t *testing.T) {
	for list, wanted := range map[string][]string{
		strings.Join(Methods(), " "): {"getItem", "getList", "createItem", "getMeta", "getProperties", "transaction"},
		strings.Join(Globals(), " "): {"dataRepo", "metaRepo", "fileStorage", "console", "fetch", "shared"},
	} {
		for _, name := range wanted {
			if !slices.Contains(strings.Fields(list), name) {
				t.Errorf("got no %s in %s", name, list)
			}
		}
	}
}
