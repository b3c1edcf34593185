package access

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/inputs"
)

// PartlyRead is a cached attribute whose stored value is withheld from an account,
// because the account may not read everything that it was computed from.
type PartlyRead struct {
	Class    *engine.Class
	Property *engine.Property
	Classes  []*engine.Class // classes with hidden items that the value needs; empty if a hidden attribute is the reason
}

// PartlyReads returns the cached attributes with stored values that are withheld from the
// account. It only looks at classes with items that the account may read. It leaves out
// attributes with a resource of their own, because they are hidden on purpose.
func (c *Checker) PartlyReads(ctx context.Context, a *engine.Account) ([]PartlyRead, error) {
	if c.gate.cfg.Unrestricted {
		return nil, nil
	}
	grants, err := c.gate.cfg.Policy.Grants(ctx)
	if err != nil {
		return nil, err
	}
	p := c.gate.cachedProfile(grants, a)
	if p.full {
		return nil, nil
	}
	own := c.gate.schema().protectedAttributes(grants, func(string, string) {})
	classes := c.gate.cfg.Meta.Classes()
	rows := inputs.RowsRead(classes)
	var found []PartlyRead
	for _, class := range classes {
		if class.Abstract || p.Rows(engine.MayRead, class).Never() {
			continue
		}
		for _, property := range class.Properties {
			if property.Formula == nil || !property.Cached || own[c.gate.schema().of[property]] != nil {
				continue
			}
			unread := slices.DeleteFunc(slices.Clone(rows[property]), func(of *engine.Class) bool { return p.Rows(engine.MayRead, of) == nil })
			if hidden := p.Hides(engine.MayRead, property); hidden || len(unread) > 0 {
				if hidden {
					unread = nil
				}
				found = append(found, PartlyRead{class, property, unread})
			}
		}
	}
	return found, nil
}
