package security

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine"
)

// probes returns requests that random generation seldom produces:
//
//   - They change objects that the account may neither read nor change, in classes with event
//     handlers.
//   - They change an id to the id of a hidden object.
//   - They repeat requests with an Idempotency-Key.
//
// They use their own random numbers, so the rest of the world does not depend on them.
func (m *gateMaker) probes(account int) (all []gateRequest) {
	a := &asker{gateMaker: &gateMaker{Rand: rand.New(rand.NewPCG(m.world.Seed, uint64(100+account))), world: m.world}, account: account, made: 1000}
	for _, row := range m.world.Rows {
		if len(all) < 6 && m.world.gone(account, row) {
			all = append(all, a.handled(row)...)
		}
	}
	for _, row := range m.world.Rows {
		if may := m.world.permissions(account, row); may.Has(engine.MayRead|engine.MayWrite) && a.chance(30) {
			all = append(all, a.renamed(row)...)
			break
		}
	}
	return append(all, a.repeated()...)
}

// handled changes or deletes a hidden object if its class has a handler that runs before the
// change or deletion.
func (a *asker) handled(row *gateRow) (all []gateRequest) {
	for c := row.Class; c != nil; c = c.Ancestor {
		text := strings.Join(c.Handlers, "")
		target := "/rest/crud/" + row.Class.Name + "@§/" + row.ID
		switch {
		case strings.Contains(text, ".pre-edit'"):
			all = append(all, gateRequest{Method: "PATCH", Target: target, Body: apptest.JSON(a.plainValues(row.Class))})
		case strings.Contains(text, ".pre-delete'"):
			all = append(all, gateRequest{Method: "DELETE", Target: target})
		case strings.Contains(text, ".pre-save'") && !a.creates(row.Class):
			record := a.plainValues(row.Class)
			record["_class"], record["_id"] = row.Class.Name+"@§", row.ID
			all = append(all, gateRequest{Method: "POST", Target: "/rest/acceptor", Body: apptest.JSON([]any{record})})
		}
	}
	return all
}

// plainValues returns a value for one text attribute of the class, or no value.
func (a *asker) plainValues(c *gateClass) map[string]any {
	values := map[string]any{}
	for _, p := range c.kinds("text") {
		if p.Name != "owner" && p.Details["unique"] == nil && p.Details["readonly"] == nil && !a.world.hidden(a.account, c, p) {
			values[p.Name] = a.value(p)
			break
		}
	}
	return values
}

// renamed changes the id of an object to the id of a hidden object of its class.
func (a *asker) renamed(row *gateRow) []gateRequest {
	for _, other := range a.world.Rows {
		if other.Class == row.Class && a.world.gone(a.account, other) {
			return []gateRequest{{Method: "PATCH", Target: "/rest/crud/" + row.Class.Name + "@§/" + row.ID, Body: apptest.JSON(map[string]any{"id": other.ID}), Claims: true}}
		}
	}
	return nil
}

// repeated returns a write twice, with one Idempotency-Key.
func (a *asker) repeated() []gateRequest {
	r := pick(a.gateMaker, a.create, a.change, a.batch, a.remove)()
	if r.Claims {
		return nil
	}
	r.Header = append(r.Header, fmt.Sprintf("Idempotency-Key: §-%d", a.account))
	return []gateRequest{r, r}
}
