package engine

// idOf returns the id of the item for which v stands: a loaded item, a key value or an
// id. It returns "" if no item can have it.
func (c *Class) idOf(v any) string {
	if it, ok := v.(*Item); ok && it != nil {
		return it.ID
	}
	if len(c.key) != 1 {
		text, ok := CastText(v)
		if _, possible := c.KeyValues(text); !ok || !possible {
			return ""
		}
		return text
	}
	key, err := c.key[0].Cast(v)
	if err != nil {
		return ""
	}
	return idPart(key)
}

// castReference returns the value of a reference, which is the key of its
// target. Empty text is null, as forms send it.
func (p *Property) castReference(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil, true
		}
	case *Record:
		return v, true
	case *Item:
		if v == nil {
			return nil, true
		}
		return p.castReference(v.ID)
	}
	if p.Target == nil || len(p.Target.key) == 0 {
		return nil, false
	}
	if key := p.Target.key; len(key) == 1 && key[0] != p {
		value, err := key[0].Cast(v)
		return value, err == nil && value != nil
	}
	id := p.Target.idOf(v)
	return id, id != ""
}

// Allows reports whether the property can point at objects of class c.
func (p *Property) Allows(c *Class) bool {
	c = c.Base()
	if len(p.Subclasses) == 0 {
		return p.Target != nil && (c == p.Target || contains(p.Target.Descendants, c))
	}
	return contains(p.Subclasses, c)
}

func contains(classes []*Class, c *Class) bool {
	for _, other := range classes {
		if other == c {
			return true
		}
	}
	return false
}

// castLinks accepts the values that Bind or a formula has made for a collection.
func castLinks(v any) (any, bool) {
	switch v := v.(type) {
	case *Links:
		return v, true
	case []*Item:
		l := &Links{Replace: true}
		for _, it := range v {
			l.Add = append(l.Add, it.ID)
		}
		return l, true
	}
	return nil, false
}

// castMembers reads the input of a collection. It calls member for each element that is an
// object, with its index. member returns a *Record, or only an id if the object has
// no other values.
func (p *Property) castMembers(v any, member func(int, any) (any, error)) (*Links, *Error) {
	l := &Links{}
	switch v := decodeText(v).(type) {
	case []any:
		l.Replace = true
		return l, p.addMembers(l, v, member)
	case Fields:
		for _, f := range v {
			list, ok := decodeText(f.Value).([]any)
			if !ok && f.Value != nil || f.Name != "add" && f.Name != "remove" {
				return nil, Errorf(Invalid, "type", `an object here has the arrays "add" and "remove" only`)
			}
			if f.Name == "add" {
				if err := p.addMembers(l, list, member); err != nil {
					return nil, err
				}
				continue
			}
			for _, e := range list {
				id := p.memberID(e)
				if id == "" {
					return nil, p.noMember(e)
				}
				l.Remove = append(l.Remove, id)
			}
		}
		return l, nil
	}
	return nil, Errorf(Invalid, "type", "it is no array")
}

func (p *Property) addMembers(l *Links, list []any, member func(int, any) (any, error)) *Error {
	seen := make(map[string]bool, len(list))
	for i, e := range list {
		if _, object := e.(Fields); object {
			m, err := member(i, e)
			if err != nil {
				return err.(*Error)
			}
			if r, ok := m.(*Record); ok {
				l.Add = append(l.Add, r)
				continue
			}
			e = m
		}
		id := ""
		if e != nil {
			id = p.Target.idOf(e)
		}
		if id == "" {
			return p.noMember(e)
		}
		if !seen[id] {
			seen[id] = true
			l.Add = append(l.Add, id)
		}
	}
	return nil
}

// memberID returns the id of a member, which is given directly or in an object.
func (p *Property) memberID(v any) string {
	if fields, ok := v.(Fields); ok {
		v, _ = fields.Get("_id")
	}
	if v == nil {
		return ""
	}
	return p.Target.idOf(v)
}

func (p *Property) noMember(v any) *Error {
	return Errorf(Invalid, "type", "%s is no id of class %s", DescribeValue(v), p.Target.FullName)
}
