package describe_test

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/describe"
	"restsrv/engine/wire"
)

// TestRedact checks that attributes that are hidden in a view are omitted from forms and lists,
// and that the other content of the forms and lists is unchanged.
func TestRedact(t *testing.T) {
	town := &engine.Class{Name: "town", Namespace: "t", FullName: "town@t", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.Int}, {Name: "name", Type: engine.String, Nullable: true}, {Name: "tax", Type: engine.Int, Nullable: true}}}
	person := &engine.Class{Name: "person", Namespace: "t", FullName: "person@t", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.Int}, {Name: "name", Type: engine.String, Nullable: true}, {Name: "salary", Type: engine.Int, Nullable: true},
		{Name: "town", Type: engine.Reference, Target: town, Nullable: true}, {Name: "towns", Type: engine.Collection, Target: town},
		{Name: "adr$street", Type: engine.String, Nullable: true}, {Name: "adr$door", Type: engine.String, Nullable: true},
		{Name: "pass$number", Type: engine.String, Nullable: true}}}
	for _, c := range []*engine.Class{town, person} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	town.Link()
	person.Link()
	hidden := map[string]bool{"salary": true, "tax": true, "adr$door": true, "pass$number": true}
	view := engine.NewViews(func(p *engine.Property) bool { return hidden[p.Name] }).Of(person)
	for in, want := range map[string]string{
		`{"columns":[{"property":"name"},{"property":"salary"}]}`:                                                                                    `{"columns":[{"property":"name"}]}`,
		`{"columns":[{"property":"town.name"},{"property":"town.tax"}]}`:                                                                             `{"columns":[{"property":"town.name"}]}`,
		`{"columns":[{"property":"towns.tax"},{"property":"towns.name"}]}`:                                                                           `{"columns":[{"property":"towns.name"}]}`,
		`{"columns":[{"property":"adr"},{"property":"adr$door"},{"property":"adr$street"}]}`:                                                         `{"columns":[{"property":"adr"},{"property":"adr$street"}]}`,
		`{"columns":[{"property":"pass"}]}`:                                                                                                          `{"columns":[]}`,
		`{"columns":[{"property":"nothing"},{"caption":"x"},5]}`:                                                                                     `{"columns":[{"property":"nothing"},{"caption":"x"}]}`,
		`{"tabs":[{"caption":"salary","fullFields":[{"property":"town","fields":[{"property":"tax"},{"property":"name"},{"property":"salary"}]}]}]}`: `{"tabs":[{"caption":"salary","fullFields":[{"property":"town","fields":[{"property":"name"}]}]}]}`,
		`{"tabs":[{"fullFields":[{"type":0,"fields":[{"property":"salary"},{"property":"id"}]}]}]}`:                                                  `{"tabs":[{"fullFields":[{"type":0,"fields":[{"property":"id"}]}]}]}`,
		`{"columns":[{"property":"name","visibility":".salary > 5","hint":"no salary","own":{"a":"b"}}]}`:                                            `{"columns":[{"property":"name","visibility":null,"hint":"no salary","own":{"a":"b"}}]}`,
		`{"styles":{"red":{"gt":["$town.tax",5]}},"groupBy":["name","salary"],"conditions":[{"property":"salary"},{"property":"name"}]}`:             `{"styles":null,"groupBy":["name"],"conditions":[{"property":"name"}]}`,
		`{"commands":[{"id":"EDIT","enableCondition":{"eq":["$salary",1]}}],"columns":null}`:                                                         `{"commands":[{"id":"EDIT","enableCondition":null}],"columns":null}`,
	} {
		v, err := wire.Decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		fields := v.(engine.Fields)
		if got := string(engine.AppendValue(nil, describe.Redact(view, fields))); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
		if got := string(engine.AppendValue(nil, describe.Redact(person, fields))); got != in {
			t.Errorf("without hidden attributes:\ngot  %[2]s\nwant %[1]s", in, got)
		}
	}
}
