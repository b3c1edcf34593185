package engine

import (
	"encoding/json"
	"errors"
	"testing"
)

// generated returns the generated values that tests expect.
func generated(account *Account) Generate {
	return Generate{GUID: func() string { return "g" }, Now: func() Instant { return 1577934245678 }, Account: account}
}

// complete inserts an item with one property besides its key.
func complete(t *testing.T, p *Property, g Generate) (any, error) {
	t.Helper()
	p.Name, p.OrderNumber = "p", 1
	c := &Class{Name: "c", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: GUID, Autoassigned: true}, p}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	v := NewValues(c)
	err := c.Complete(v, g)
	return v[1], err
}

func TestDefaults(t *testing.T) {
	g := generated(&Account{ID: "a@local", Name: "Ann"})
	g.Next = func(*Property) (int64, error) { return 7, nil }
	g.Formula = func(p *Property) (any, error) { return p.Computed.Eval(t.Context(), nil, nil) }
	_, _, mayor := towns(t)
	for _, c := range []struct {
		p    Property
		want string
	}{
		{Property{Type: String, Default: "$$uid"}, `"a@local"`},
		{Property{Type: String, Default: "$$name"}, `"Ann"`},
		{Property{Type: String, Default: "$$person", Nullable: true}, `null`},
		{Property{Type: Int, Default: "$$uid", Nullable: true}, `null`},
		{Property{Type: DateTime, Default: "$$now", Size: 1}, `"2020-01-02T03:04:05.000Z"`},
		{Property{Type: DateTime, Default: "now"}, `"2020-01-02T03:04:05.678Z"`},
		{Property{Type: String, Default: "$$now"}, `"2020-01-02T03:04:05.678Z"`},
		{Property{Type: String, Default: "now"}, `"now"`},
		{Property{Type: Boolean, Default: "false"}, `false`},
		{Property{Type: Int, Default: "", Nullable: true}, `null`},
		{Property{Type: Set, Default: []any{json.Number("1")}}, `[1]`},
		{Property{Type: Reference, Target: mayor, Default: json.Number("27")}, `27`},
		{Property{Type: Int, Autoassigned: true}, `7`},
		{Property{Type: Int, Autoassigned: true, Default: json.Number("5")}, `5`},
		{Property{Type: DateTime, Autoassigned: true, Size: 4}, `"2020-01-02T00:00:00.000Z"`},
		{Property{Type: String, Computed: fixed{int64(12)}}, `"12"`},
		{Property{Type: Collection, Target: mayor}, `null`},
		{Property{Type: Int, Formula: fixed{int64(1)}, Default: json.Number("5")}, `null`},
	} {
		v, err := complete(t, &c.p, g)
		if err != nil || string(AppendValue(nil, v)) != c.want {
			t.Errorf("%s %v: got %v, %v, want %s", c.p.Type, c.p.Default, v, err, c.want)
		}
	}
	if v, err := complete(t, &Property{Type: String, Default: "$$uid", Nullable: true}, generated(nil)); v != nil || err != nil {
		t.Errorf("$$uid without an account: got %v, %v, want null", v, err)
	}
}

func TestCompleteInTwoSteps(t *testing.T) {
	p := &Property{Type: Int, Autoassigned: true}
	v, err := complete(t, p, generated(nil))
	if v != Absent || err != nil {
		t.Errorf("a counter outside the transaction: got %v, %v, want Absent", v, err)
	}
	q := &Property{Type: String, Computed: fixed{"x"}}
	if v, err := complete(t, q, generated(nil)); v != Absent || err != nil {
		t.Errorf("a formula outside the transaction: got %v, %v, want Absent", v, err)
	}
	g := generated(nil)
	full := errors.New("no more numbers")
	g.Next = func(*Property) (int64, error) { return 0, full }
	if _, err := complete(t, p, g); !errors.Is(err, full) {
		t.Errorf("a counter that fails: got %v, want its error", err)
	}
	g.Formula = func(*Property) (any, error) { return nil, nil }
	if _, err := complete(t, q, g); err == nil || err.(*Error).Reason != "required" {
		t.Errorf("a formula without a value: got %v, want the reason required", err)
	}
}

func TestTrackers(t *testing.T) {
	c := &Class{Name: "c", Key: []string{"id"}, CreationTracker: "made", ChangeTracker: "changed", CreatorTracker: "maker", EditorTracker: "changer", Properties: []*Property{
		{Name: "id", Type: GUID, Autoassigned: true}, {Name: "made", Type: DateTime, Size: 1}, {Name: "changed", Type: DateTime},
		{Name: "maker", Type: User}, {Name: "changer", Type: String},
	}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	ann, given := &Account{ID: "ann@local"}, `{id=i made=1970-01-01T00:00:00.000Z changed=1970-01-01T00:00:00.000Z maker=x changer=y}`
	for _, test := range []struct {
		what    string
		account *Account
		insert  bool
		given   bool
		want    string
	}{
		{"insert", ann, true, false, `{made=2020-01-02T03:04:05.000Z changed=2020-01-02T03:04:05.678Z maker=ann@local changer=null}`},
		{"insert of what gives them", ann, true, true, `{id=i made=1970-01-01T00:00:00.000Z changed=1970-01-01T00:00:00.000Z maker=ann@local changer=null}`},
		{"insert by the server", nil, true, true, given},
		{"update", ann, false, false, `{changed=2020-01-02T03:04:05.678Z changer=ann@local}`},
		{"update that gives them", ann, false, true, `{id=i made=1970-01-01T00:00:00.000Z changed=2020-01-02T03:04:05.678Z changer=ann@local}`},
		{"update by the server", nil, false, false, `{changed=2020-01-02T03:04:05.678Z}`},
	} {
		v := NewValues(c)
		if test.given {
			v = Values{"i", Instant(0), Instant(0), "x", "y"}
		}
		c.Stamp(v, generated(test.account), test.insert)
		if got := showValues(c, v); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.what, got, test.want)
		}
	}
	v := NewValues(c)
	if err := c.Complete(v, generated(nil)); err != nil {
		t.Errorf("missing trackers: got %v, want no error", err)
	}
	it := &Item{Class: c, ID: "i", Creator: "ann@local", Editor: "bo@local", Values: v}
	if got := string(it.AppendJSON(nil)); got[:6] != `{"_id"` {
		t.Errorf("a class with trackers: got %s, want no _creator and _editor", got)
	}
}

func TestCheckExempts(t *testing.T) {
	town, _, mayor := towns(t)
	for _, p := range town.Properties {
		p.Nullable = false
	}
	v := make(Values, len(town.Properties))
	v[0] = "t"
	for _, p := range town.Properties {
		if p.Type != Collection && p.Formula == nil && v[p.Index] == nil {
			err := town.Check(v)
			if err == nil || err.(*Error).Attribute != p.Name {
				t.Errorf("null for %s: got %v, want an error with this attribute", p.Name, err)
			}
			v[p.Index] = "x"
		}
	}
	if err := town.Check(v); err != nil {
		t.Errorf("null for collections and calculated attributes: got %v, want no error", err)
	}
	if err := mayor.Check(Values{nil, "x"}); err == nil || err.(*Error).Attribute != "id" {
		t.Errorf("null for a key: got %v, want an error with the attribute id", err)
	}
}
