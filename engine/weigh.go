package engine

// Exceeds reports whether the JSON that AppendFields would make of the item
// has more than about so many bytes. What is loaded is there once and may be
// written for each of those who point at it, at every level of a path: a few
// items can make an answer that no memory holds. Finding out takes no longer
// than writing so many bytes would.
func (it *Item) Exceeds(size int, only *Projection) bool {
	return it.weigh(size, only, nil) < 0
}

// weigh returns what is left of a size once the item is written, less than
// nothing when that is too little. It goes the ways of appendJSON.
func (it *Item) weigh(left int, only *Projection, up *trail) int {
	left -= len(it.Class.jsonHead) + len(it.ID)
	for i, p := range it.Class.Properties {
		next, ok := only.has(p.Name)
		if !ok || p.Type == Password {
			continue
		}
		left -= len(p.jsonKey)
		switch v := it.Values[i].(type) {
		case string:
			left -= len(v)
		case JSONText:
			left -= len(v)
		}
		link := it.Link(p)
		if !link.Shown {
			continue
		}
		here := &trail{it, up}
		if p.Type == Reference && link.Item != nil {
			left = link.Item.weighNested(left, next, here)
		}
		for _, member := range link.Items {
			if left < 0 {
				return left
			}
			left = member.weighNested(left, next, here)
		}
	}
	return left
}

func (it *Item) weighNested(left int, only *Projection, up *trail) int {
	if left < 0 || up.holds(it) {
		return left - len(it.ID)
	}
	return it.weigh(left, only, up)
}
