package acceptor_test

import (
	"context"
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/store"
)

// gate is a repository in which "title" is hidden and the account has only the permissions in
// may.
type gate struct {
	*store.Store
	views *engine.Views
	may   engine.Permission
	saves int
}

func (g *gate) View(_ context.Context, c *engine.Class) (*engine.Class, error) {
	return g.views.Of(c), nil
}

func (g *gate) Allow(_ context.Context, _ *engine.Class, p engine.Permission) error {
	if g.may&p == 0 {
		return engine.Denied()
	}
	return nil
}

func (g *gate) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	g.saves++
	for i := range records {
		records[i].Class = records[i].Class.Base()
	}
	items, err := g.Store.Save(ctx, records)
	for _, it := range items {
		it.Class = g.views.Of(it.Class)
	}
	return items, err
}

// TestPermission checks that an account that may not save any object of a class gets no errors
// about the contents of its records. For other accounts, a hidden attribute behaves like an
// attribute that does not exist, also in the answer.
func TestPermission(t *testing.T) {
	g := &gate{views: engine.NewViews(func(p *engine.Property) bool { return p.Name == "title" })}
	f := open(t, service.Options{"dataRepo": g})
	g.Store = f.data
	for _, test := range []struct {
		may        engine.Permission
		body, want string
	}{
		{0, `[{"_class":"note@n","id":{}}]`, "the account may not do this"},
		{engine.MayRead | engine.MayDelete, `[{"_class":"note@n","_id":7.5,"_classVer":[]}]`, "the account may not do this"},
		{0, `[{"_class":"nothing@n"}]`, `class "nothing@n" does not exist`},
		{engine.MayUse, `[{"_class":"note@n","id":{}}]`, "attribute \"id\" takes text"},
		{engine.MayUse, `[{"_class":"note@n","_id":"a","title":"x"}]`, `[{"_id":"a","_class":"note@n","_classVer":"","id":"a"}] [299 - "unknown attribute ignored: title"]`},
		{engine.MayWrite, `[{"_class":"note@n","_id":"a","absnt":"x"}]`, `[{"_id":"a","_class":"note@n","_classVer":"","id":"a"}] [299 - "unknown attribute ignored: absnt"]`},
	} {
		g.may, g.saves = test.may, 0
		resp, err := f.post(test.body)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(string(resp.Body), " ", resp.Header["Warning"])
		}
		if len(got) > len(test.want) && err != nil {
			got = got[:len(test.want)]
		}
		if got != test.want || g.saves > 0 != (err == nil) {
			t.Errorf("%s with %s:\ngot  %s\nwant %s", test.body, test.may, got, test.want)
		}
	}
	if it, err := f.data.Get(context.Background(), f.note, "a"); err != nil || it.Values[f.note.Property("title").Index] != nil {
		t.Errorf("a hidden attribute: got a stored value or the error %v, want null", err)
	}
}
