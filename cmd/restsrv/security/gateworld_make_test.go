package security

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"

	"restsrv/engine"
)

// gateMaker generates the world for a seed.
type gateMaker struct {
	*rand.Rand
	world *gateWorld
	names int // number of attributes so far

	// displays is set if the formula that is being made contains display strings, or refers to an
	// attribute that contains display strings.
	displays bool
}

func makeGateWorld(seed uint64) *gateWorld {
	m := &gateMaker{Rand: rand.New(rand.NewPCG(seed, 13)), world: &gateWorld{Seed: seed}}
	m.classes()
	for i := range 5 + m.IntN(16) {
		m.row(i)
	}
	m.link()
	for account := range gateAccounts {
		m.rights(account)
	}
	for account := range gateAccounts {
		m.requests(account)
	}
	return m.world
}

// chance returns true with a probability of n percent.
func (m *gateMaker) chance(n int) bool { return m.IntN(100) < n }

func pick[T any](m *gateMaker, all ...T) T { return all[m.IntN(len(all))] }

// classes generates all classes: first their plain attributes, then references
// and collections, then formulas over these.
func (m *gateMaker) classes() {
	w := m.world
	for i := range 3 + m.IntN(3) {
		c := &gateClass{Name: fmt.Sprintf("c%d", i)}
		if i > 0 && m.chance(30) {
			if above := w.Classes[m.IntN(i)]; above.Ancestor == nil || m.chance(30) {
				c.Ancestor = above
			}
		}
		w.Classes = append(w.Classes, c)
		m.plain(c)
	}
	for _, c := range w.Classes {
		m.links(c)
	}
	for range 2 {
		for _, c := range w.Classes {
			m.computed(c)
		}
	}
	for _, c := range w.Classes {
		m.display(c)
		m.handlers(c)
		for _, p := range c.kinds("reference") {
			if m.chance(30) {
				c.Dependencies = append(c.Dependencies, p.Name)
			}
		}
	}
}

// add adds an attribute with a unique name.
func (m *gateMaker) add(c *gateClass, kind, letter string, details map[string]any) *gateProperty {
	m.names++
	p := &gateProperty{Name: fmt.Sprintf("%s%d", letter, m.names), Kind: kind, Details: details}
	c.Properties = append(c.Properties, p)
	return p
}

func (m *gateMaker) plain(c *gateClass) {
	for range 1 + m.IntN(2) {
		details := map[string]any{}
		switch m.IntN(8) {
		case 0:
			details["indexed"] = true
		case 1:
			details["readonly"] = true
		case 2:
			details["selectionProvider"] = map[string]any{"type": "SIMPLE", "list": []any{
				map[string]any{"key": "red", "value": "Red"}, map[string]any{"key": "blue", "value": "Blue"}}}
		case 3, 4, 5:
			details["indexSearch"] = true
		}
		m.add(c, "text", "s", details)
	}
	if m.chance(80) {
		details := map[string]any{}
		if m.chance(20) {
			details["readonly"] = true
		}
		m.add(c, "number", "n", details)
	}
	if m.chance(15) {
		m.add(c, "text", "u", map[string]any{"unique": true})
	}
	if m.chance(20) {
		m.add(c, "file", "f", nil)
	}
	if c.Ancestor == nil && m.chance(35) {
		c.Properties = append(c.Properties, &gateProperty{Name: "owner", Kind: "text"})
		c.OwnerRole = true
	}
}

func (m *gateMaker) links(c *gateClass) {
	for range 1 + m.IntN(2) {
		target := pick(m, m.world.Classes...)
		p := m.add(c, "reference", "r", nil)
		p.Target = target
		if m.chance(60) {
			back := m.add(target, "back", "b", map[string]any{"backRef": p.Name})
			back.Target = c
			m.arrange(back)
		}
	}
	if m.chance(50) {
		p := m.add(c, "many", "m", nil)
		p.Target = pick(m, m.world.Classes...)
		m.arrange(p)
	}
}

// arrange gives some collections a sort order.
func (m *gateMaker) arrange(p *gateProperty) {
	if by := p.Target.kinds("text", "number"); len(by) > 0 && m.chance(25) {
		p.Details = mapOf(p.Details, "selSorting", []any{map[string]any{"property": pick(m, by...).Name, "mode": m.IntN(2)}})
	}
}

func mapOf(m map[string]any, name string, value any) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	m[name] = value
	return m
}

// computed adds attributes with formulas: live, cached, or for default values.
func (m *gateMaker) computed(c *gateClass) {
	if !m.chance(70) {
		return
	}
	number := m.chance(45)
	form := m.IntN(3)
	m.displays = false
	f := m.formula(c, number) // before the attribute exists, so that it cannot refer to itself
	switch form {
	case 0:
		kind := "text"
		if number {
			kind = "number"
		}
		m.add(c, kind, "d", map[string]any{"defaultValue": f})
	case 1:
		m.add(c, "formula", "l", map[string]any{"formula": f}).Number = number
	default:
		m.add(c, "formula", "h", map[string]any{"formula": f, "cached": true}).Number = number
	}
	c.Properties[len(c.Properties)-1].Displays = m.displays && form > 0
}

// scalar picks a numeric or a text attribute of a class; "" if the class has none.
func (m *gateMaker) scalar(c *gateClass, number bool) string {
	var names []string
	for _, p := range c.all() {
		switch {
		case p.Kind == "number" && number, p.Kind == "text" && !number && p.Name != "owner", p.Kind == "formula" && p.Number == number:
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	name := pick(m, names...)
	m.displays = m.displays || c.displays(name)
	return name
}

// path picks a path from objects of a class to a number or a text; "" if there is
// none.
func (m *gateMaker) path(c *gateClass, number bool, depth int) string {
	if refs := c.kinds("reference"); depth > 0 && len(refs) > 0 && m.chance(60) {
		p := pick(m, refs...)
		if rest := m.path(p.Target, number, depth-1); rest != "" {
			return p.Name + "." + rest
		}
	}
	return m.scalar(c, number)
}

// formula generates a formula over other attributes, over objects in references
// and collections, and over whole classes.
func (m *gateMaker) formula(c *gateClass, number bool) any {
	for range 20 {
		if f := m.tryFormula(c, number); f != nil {
			return f
		}
	}
	if number {
		return map[string]any{"add": []any{1, 2}}
	}
	return map[string]any{"concat": []any{"$id", "!"}}
}

func (m *gateMaker) tryFormula(c *gateClass, number bool) any {
	call := func(name string, args ...any) any { return map[string]any{name: args} }
	lists := c.kinds("back", "many")
	kind := m.IntN(3)
	switch {
	case kind == 0 && len(lists) > 0:
		list := pick(m, lists...)
		of := m.scalar(list.Target, number)
		if number && (of == "" || m.chance(30)) {
			return call("count", "$"+list.Name)
		}
		if of == "" {
			return nil
		}
		return call(pick(m, m.aggregates(number)...), "$"+list.Name, of)
	case kind == 1:
		of := pick(m, m.world.Classes...)
		name := m.scalar(of, number)
		if plain := of.kinds(map[bool]string{true: "number", false: "text"}[number]); len(plain) > 0 && m.chance(85) {
			name = pick(m, plain...).Name // nested formulas over whole classes are slow
		}
		if number && m.chance(30) {
			return call("count", of.Name)
		}
		if name == "" {
			return nil
		}
		args := []any{of.Name, name}
		if by := of.kinds("number"); len(by) > 0 && m.chance(40) {
			args = append(args, map[string]any{pick(m, by...).Name: []any{"gt", m.IntN(100)}})
		}
		return call(pick(m, m.aggregates(number)...), args...)
	}
	return m.local(c, number)
}

func (m *gateMaker) aggregates(number bool) []string {
	if number {
		return []string{"sum", "max", "min"}
	}
	return []string{"merge"}
}

// local generates a formula over paths that start at the object itself.
func (m *gateMaker) local(c *gateClass, number bool) any {
	path := m.path(c, number, 2)
	if path == "" {
		return nil
	}
	if number {
		return map[string]any{pick(m, "add", "sub"): []any{"$" + path, pick(m, any(m.IntN(10)), any("$"+path))}}
	}
	pieces := []any{"$" + path, "/"}
	if refs := c.kinds("reference"); len(refs) > 0 && m.chance(40) {
		ref := pick(m, refs...).Name
		m.displays = true
		pieces = append(pieces, "$"+pick(m, ref, ref+".__string"))
	}
	if of := m.path(c, true, 1); of != "" && m.chance(40) {
		return map[string]any{"if": []any{map[string]any{"gt": []any{"$" + of, m.IntN(100)}}, map[string]any{"concat": pieces}, "small"}}
	}
	return map[string]any{"concat": pieces}
}

func (m *gateMaker) display(c *gateClass) {
	if m.chance(25) {
		return
	}
	names := []string{"id"}
	for _, p := range c.all() {
		if p.Kind != "file" && p.Kind != "many" && p.Kind != "back" {
			names = append(names, p.Name)
		}
	}
	if m.chance(25) {
		m.displays = false
		if f := m.formula(c, false); !m.displays {
			c.Semantic = f
		}
		return
	}
	first, second := pick(m, names...), pick(m, names...)
	if !c.displays(first) && !c.displays(second) {
		c.Semantic = first + "| - |" + second
	}
}

// handlers adds event handlers that return or store the data of the event.
func (m *gateMaker) handlers(c *gateClass) {
	if !m.chance(35) {
		return
	}
	text, number := m.scalar(c, false), m.scalar(c, true)
	if text == "" || number == "" {
		return
	}
	event := pick(m, "pre-edit", "pre-edit", "pre-delete", "edit", "delete", "pre-save", "pre-create")
	var body string
	kind := m.IntN(4)
	switch kind {
	case 0:
		body = fmt.Sprintf("if (e.item && e.item.get('%s') > %d) throw Object.assign(new Error('refused for ' + e.item.get('%s')), {code: 400});", number, m.IntN(100), text)
	case 1:
		body = fmt.Sprintf("return {'%s': String(e.item && e.item.get('%s'))};", text, number)
	case 2:
		body = "return log.createItem('log@§', {text: e.type + ' ' + e.id}).then(() => undefined);"
	default:
		body = "if (e.item && String(e.item).length % 2) throw Object.assign(new Error(String(e.item)), {code: 422});"
	}
	if kind%3 == 0 && (event == "pre-edit" || event == "pre-save") { // which have no item
		body = fmt.Sprintf("return log.getItem('%s@§', e.id).catch(() => null).then((item) => { if (item && /[13579]$/.test(e.id)) throw Object.assign(new Error(e.id + ' exists'), {code: 400}); });", c.Name)
	}
	c.Handlers = append(c.Handlers, fmt.Sprintf("on('%s@§.%s', (e) => { %s });", c.Name, event, body))
}

var gateWords = []string{"red", "blue", "ann", "bob", "oslo", "rome", "tea", "milk"}

// row generates an object with plain values.
func (m *gateMaker) row(i int) {
	c := pick(m, m.world.Classes...)
	row := &gateRow{Class: c, ID: fmt.Sprintf("r%d", i), Values: map[string]any{}}
	for _, p := range c.all() {
		switch {
		case p.Name == "owner":
			row.Values["owner"] = accountName(m.IntN(gateAccounts))
		case p.Details["unique"] == true:
			row.Values[p.Name] = fmt.Sprintf("unique %d", i)
		case p.Kind == "file" && m.chance(70):
			row.Values[p.Name] = map[string]any{"name": pick(m, gateWords...) + ".txt", "body": base64.StdEncoding.EncodeToString([]byte(pick(m, gateWords...)))}
		case m.chance(15):
		case p.Kind == "text" && p.Details["defaultValue"] == nil:
			row.Values[p.Name] = m.word(p)
		case p.Kind == "number" && p.Details["defaultValue"] == nil:
			row.Values[p.Name] = m.IntN(100)
		}
	}
	m.world.Rows = append(m.world.Rows, row)
}

func (m *gateMaker) word(p *gateProperty) string {
	if p.Details["selectionProvider"] != nil {
		return pick(m, "red", "blue")
	}
	if m.chance(30) {
		return pick(m, gateWords...) + " " + pick(m, gateWords...)
	}
	return pick(m, gateWords...)
}

// link fills the references and collections of the objects.
func (m *gateMaker) link() {
	for _, row := range m.world.Rows {
		for _, p := range row.Class.kinds("reference") {
			if ids := m.ids(p.Target); len(ids) > 0 && m.chance(75) {
				row.Values[p.Name] = pick(m, ids...)
			}
		}
		for _, p := range row.Class.kinds("many") {
			ids := m.ids(p.Target)
			m.Shuffle(len(ids), func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
			row.Values[p.Name] = ids[:min(m.IntN(5), len(ids))]
		}
	}
}

// ids returns the ids of the objects of a class and its descendants.
func (m *gateMaker) ids(c *gateClass) (ids []string) {
	for _, row := range m.world.Rows {
		if row.Class.below(c) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// permissions returns random permissions; most of the time, read is among them.
func (m *gateMaker) permissions() (may engine.Permission) {
	for _, one := range []struct {
		may   engine.Permission
		often int
	}{{engine.MayRead, 75}, {engine.MayWrite, 45}, {engine.MayUse, 45}, {engine.MayDelete, 30}} {
		if m.chance(one.often) {
			may |= one.may
		}
	}
	return may
}

func (m *gateMaker) rights(account int) {
	w := m.world
	r := gateRights{Grants: map[string]engine.Permission{}, Owner: map[string]engine.Permission{}, KeepUsable: m.chance(50)}
	grant := func(in map[string]engine.Permission, resource string) {
		if may := m.permissions(); may != 0 {
			in[resource] = may
		}
	}
	for _, c := range w.Classes {
		if m.chance(45) {
			grant(r.Grants, "c:"+c.Name)
		}
		if w.ownerRole(c) && m.chance(80) {
			grant(r.Owner, "c:"+c.Name)
		}
		for _, p := range c.Properties {
			if p.Name == "owner" || !m.chance(20) {
				continue
			}
			resource := "a:" + c.Name + "." + p.Name
			r.Secrets = append(r.Secrets, resource)
			switch m.IntN(4) {
			case 0:
				grant(r.Grants, resource)
			case 1:
				r.Grants[resource] = engine.MayWrite
			}
		}
	}
	for _, row := range w.Rows {
		if m.chance(35) {
			grant(r.Grants, "i:"+row.Class.Name+"@"+row.ID)
		}
	}
	if m.chance(60) {
		r.Grants["c:log"] = engine.MayRead | engine.MayUse
	}
	w.Accounts[account] = r
}
