package access

import "restsrv/engine"

// redaction lists the parts of items of a class that are hidden from the account.
type redaction struct {
	view    *engine.Class
	hidden  []int // attributes, by Property.Index
	labels  []int // attributes with computed labels that depend on hidden values
	label   bool  // set if the computed display string depends on hidden values
	creator bool
	editor  bool
}

func (p *profile) redactionOf(c *engine.Class) *redaction {
	c = c.Base()
	if m, ok := p.redactions.Load(c); ok {
		return m.(*redaction)
	}
	s := p.gate.schema()
	m := &redaction{view: p.views.Of(c)}
	for i, property := range c.Properties {
		a := s.of[property]
		switch {
		case a == nil:
		case m.view.Hides(property):
			m.hidden = append(m.hidden, i)
			m.creator = m.creator || property.Name == c.CreatorTracker
			m.editor = m.editor || property.Name == c.EditorTracker
		case p.unread[a.label]:
			m.labels = append(m.labels, i)
		}
	}
	m.label = s.computed[c] != nil && p.unread[s.computed[c]]
	stored, _ := p.redactions.LoadOrStore(c, m)
	return stored.(*redaction)
}

// redactItem returns the item as the account may see it: the item itself if nothing
// is hidden from the account, else a redacted copy of it and of the items
// loaded with it.
func (p *profile) redactItem(it *engine.Item) *engine.Item {
	if p == nil || p.views == nil || it == nil {
		return it
	}
	if it.Links == nil {
		return p.redactAlone(it)
	}
	return (&redactor{p, map[*engine.Item]*engine.Item{}}).redactLinked(it)
}

// redactAlone returns a copy of an item without its hidden values. It does not
// change the linked items.
func (p *profile) redactAlone(it *engine.Item) *engine.Item {
	m := p.redactionOf(it.Class)
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

// redactor redacts items that link to each other, each item once.
type redactor struct {
	profile *profile
	done    map[*engine.Item]*engine.Item
}

func (m *redactor) redactLinked(it *engine.Item) *engine.Item {
	if it == nil || m.done[it] != nil {
		return m.done[it]
	}
	c := m.profile.redactAlone(it)
	m.done[it] = c
	if it.Links == nil {
		return c
	}
	c.Links = make([]engine.Link, len(it.Links))
	for i, link := range it.Links {
		if i < len(it.Class.Properties) && c.Class.Hides(it.Class.Properties[i]) {
			continue
		}
		link.Item = m.redactLinked(link.Item)
		if link.Items != nil {
			members := make([]*engine.Item, len(link.Items))
			for k, member := range link.Items {
				members[k] = m.redactLinked(member)
			}
			link.Items = members
		}
		c.Links[i] = link
	}
	return c
}

// existenceOnly returns an item with only its id, its revision and the attributes of its key. The
// result is for an account that is allowed to know that the item exists, but not more. The class
// of the result is a view without attributes. Other results never have this view, so the entity
// tag of the result differs from all other entity tags.
func (p *profile) existenceOnly(it *engine.Item) *engine.Item {
	n := &engine.Item{Class: p.gate.nothing.Of(it.Class), ID: it.ID, Label: it.ID, Revision: it.Revision,
		Values: make(engine.Values, len(it.Class.Properties))}
	for _, key := range it.Class.KeyProperties() {
		n.Values[key.Index] = it.Values[key.Index]
	}
	return n
}
