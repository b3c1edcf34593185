package transfer

import (
	"encoding/json"
	"reflect"
	"testing"

	"restsrv/engine"
)

// TestItemLine checks that the line of an item is complete: reading the line returns the same
// values, with JSON as it was written and numbers without loss.
func TestItemLine(t *testing.T) {
	pair := &engine.Class{Name: "pair", Key: []string{"a", "b"}, Properties: []*engine.Property{
		{Name: "a", Type: engine.String}, {Name: "b", Type: engine.Int}}}
	values := []struct {
		property *engine.Property
		value    any
		text     string
	}{
		{&engine.Property{Type: engine.String}, "<b>\n\u2028\"", `"<b>\n` + "\u2028" + `\""`},
		{&engine.Property{Type: engine.String}, "", `""`},
		{&engine.Property{Type: engine.Int}, int64(-1 << 63), `-9223372036854775808`},
		{&engine.Property{Type: engine.Real}, 1e-300, `1e-300`},
		{&engine.Property{Type: engine.Real}, 0.1, `0.1`},
		{&engine.Property{Type: engine.DecimalNum}, engine.Decimal("123456789012345678901234567890.12345678901234567890123456789"), `123456789012345678901234567890.12345678901234567890123456789`},
		{&engine.Property{Type: engine.DateTime}, engine.Instant(-1), `"1969-12-31T23:59:59.999Z"`},
		{&engine.Property{Type: engine.Boolean}, false, `false`},
		{&engine.Property{Type: engine.Password}, "$argon2id$x", `"$argon2id$x"`},
		{&engine.Property{Type: engine.Set}, engine.JSONText(`[1,2]`), `[1,2]`},
		{&engine.Property{Type: engine.Custom}, engine.JSONText(`{"b":1.50,"a":"\u0041","b":null}`), `{"b":1.50,"a":"\u0041","b":null}`},
		{&engine.Property{Type: engine.File}, engine.JSONText(`{"id":"f","size":3,"hash":"h"}`), `{"id":"f","size":3,"hash":"h"}`},
		{&engine.Property{Type: engine.Reference, Target: pair}, "x_7", `"x_7"`},
	}
	c := &engine.Class{Name: "all", Key: []string{"id"}, Version: "3", Properties: []*engine.Property{{Name: "id", Type: engine.GUID}}}
	want := `{"_class":"all","_classVer":"3","_id":"i","_creator":"ann@local","_editor":"bob@local","id":"i"`
	it := &engine.Item{Class: c, ID: "i", Version: "3", Creator: "ann@local", Editor: "bob@local", Values: engine.Values{"i"}}
	for i, v := range values {
		p := v.property
		p.Name, p.Nullable, p.OrderNumber = string(rune('a'+i)), true, i+1
		c.Properties = append(c.Properties, p)
		it.Values = append(it.Values, v.value)
		want += `,"` + p.Name + `":` + v.text
	}
	none := &engine.Property{Name: "none", Type: engine.Int, Nullable: true, OrderNumber: 100}
	c.Properties, it.Values = append(c.Properties, none), append(it.Values, nil)
	for _, c := range []*engine.Class{pair, c} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	text := appendItem(nil, it)
	if string(text) != want+"}" {
		t.Errorf("got\n%s\nwant\n%s}", text, want)
	}
	var l line
	if err := json.Unmarshal(append(text[:len(text)-1], `,"color":"red","_other":1}`...), &l); err != nil {
		t.Fatal(err)
	}
	back, unknown, err := readItem(l, c)
	if err != nil || !reflect.DeepEqual(unknown, []string{"color"}) {
		t.Fatal(unknown, err)
	}
	if !reflect.DeepEqual(back.Values, it.Values) || back.Version != "3" || back.Creator != "ann@local" || back.Editor != "bob@local" {
		t.Errorf("got %#v, want %#v", back.Values, it.Values)
	}
}
