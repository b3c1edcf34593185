package access

import "restsrv/engine"

// mask is what the account does not see of items of a class.
type mask struct {
	view    *engine.Class
	hidden  []int // by Property.Index
	labels  []int // whose computed labels show something hidden
	label   bool  // the computed display string does
	creator bool
	editor  bool
}

func (p *profile) maskOf(c *engine.Class) *mask {
	c = c.Base()
	if m, ok := p.masks.Load(c); ok {
		return m.(*mask)
	}
	s := p.gate.schema()
	m := &mask{view: p.views.Of(c)}
	for i, property := range c.Properties {
		a := s.of[property]
		switch {
		case a == nil:
		case m.view.Lacks(property):
			m.hidden = append(m.hidden, i)
			m.creator = m.creator || property.Name == c.CreatorTracker
			m.editor = m.editor || property.Name == c.EditorTracker
		case p.unread[a.label]:
			m.labels = append(m.labels, i)
		}
	}
	m.label = s.computed[c] != nil && p.unread[s.computed[c]]
	stored, _ := p.masks.LoadOrStore(c, m)
	return stored.(*mask)
}

// shown is an item as the account sees it: the item itself when nothing is
// hidden from the account, else a copy of it and of what is loaded with it.
func (p *profile) shown(it *engine.Item) *engine.Item {
	if p == nil || p.views == nil || it == nil {
		return it
	}
	if it.Links == nil {
		return p.masked(it)
	}
	return (&masking{p, map[*engine.Item]*engine.Item{}}).item(it)
}

// masked is a copy of an item without what it hides itself.
func (p *profile) masked(it *engine.Item) *engine.Item {
	m := p.maskOf(it.Class)
	c := *it
	c.Class = m.view
	if len(m.hidden) > 0 {
		c.Values = append(engine.Values(nil), it.Values...)
	}
	if it.Labels != nil && len(m.hidden)+len(m.labels) > 0 {
		c.Labels = append([]string(nil), it.Labels...)
	}
	for _, i := range m.hidden {
		c.Values[i] = nil
		if c.Labels != nil {
			c.Labels[i] = ""
		}
	}
	for _, i := range m.labels {
		if c.Labels != nil {
			c.Labels[i] = engine.ValueText(c.Values[i])
		}
	}
	if m.label {
		c.Label = ""
	}
	if m.creator {
		c.Creator = ""
	}
	if m.editor {
		c.Editor = ""
	}
	return &c
}

// masking masks items that lead to each other, each once.
type masking struct {
	profile *profile
	done    map[*engine.Item]*engine.Item
}

func (m *masking) item(it *engine.Item) *engine.Item {
	if it == nil || m.done[it] != nil {
		return m.done[it]
	}
	c := m.profile.masked(it)
	m.done[it] = c
	if it.Links == nil {
		return c
	}
	c.Links = make([]engine.Link, len(it.Links))
	for i, link := range it.Links {
		if i < len(it.Class.Properties) && c.Class.Lacks(it.Class.Properties[i]) {
			continue
		}
		link.Item = m.item(link.Item)
		if link.Items != nil {
			members := make([]*engine.Item, len(link.Items))
			for k, member := range link.Items {
				members[k] = m.item(member)
			}
			link.Items = members
		}
		c.Links[i] = link
	}
	return c
}

// nothingOf is an item of which the account may know that it is there: its id,
// and no attribute but what that shows. Its class is a view of its own, so that
// no other answer has the same entity tag.
func (p *profile) nothingOf(it *engine.Item) *engine.Item {
	n := &engine.Item{Class: p.gate.nothing.Of(it.Class), ID: it.ID, Label: it.ID, Revision: it.Revision,
		Values: make(engine.Values, len(it.Class.Properties))}
	for _, key := range it.Class.KeyProperties() {
		n.Values[key.Index] = it.Values[key.Index]
	}
	return n
}
