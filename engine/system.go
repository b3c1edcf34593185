package engine

import (
	"context"
	"time"
)

// SystemClass makes a class of what the server keeps for itself, such as
// accounts and sessions. Its name begins with #, as no application's can. Its
// key is the first property; the others may be null, so that a later version
// can add some to an older database. It panics if they make no class, being
// constants of the program. Open the store with it beside the classes of the
// application, and show it to no service.
func SystemClass(name string, properties ...*Property) *Class {
	c := &Class{Name: name, Caption: name, Key: []string{properties[0].Name}, Properties: properties}
	for i, p := range properties {
		p.OrderNumber, p.Nullable, p.Definition = i, i > 0, name
	}
	if err := c.Init(); err != nil {
		panic(err)
	}
	c.Link()
	return c
}

// SystemProperty makes a property of a system class.
func SystemProperty(name string, t PropertyType) *Property {
	return &Property{Name: name, Caption: name, Type: t}
}

// SystemIndexed makes one by which items are looked for.
func SystemIndexed(name string, t PropertyType) *Property {
	p := SystemProperty(name, t)
	p.Indexed = true
	return p
}

// AsServer returns a context in which the server itself acts: no account has
// rights on system classes.
func AsServer(ctx context.Context) context.Context {
	if AccountFrom(ctx) != nil {
		ctx = WithAccount(ctx, nil)
	}
	return WithGuard(ctx, nil)
}

// Named is one value for ValuesOf.
func Named(name string, value any) Field { return Field{name, value} }

// ValuesOf makes values of a system class; what is not named stays Absent. It
// panics for a name that the class does not have.
func ValuesOf(c *Class, sets ...Field) Values {
	v := NewValues(c)
	for _, s := range sets {
		v[c.Property(s.Name).Index] = s.Value
	}
	return v
}

// Text returns a text value of the item; "" for null and for what is no text.
func (it *Item) Text(name string) string {
	s, _ := it.Get(name).(string)
	return s
}

// Flag returns a boolean of the item; false for null.
func (it *Item) Flag(name string) bool {
	b, _ := it.Get(name).(bool)
	return b
}

// When returns a moment of the item; the zero time for null.
func (it *Item) When(name string) time.Time {
	if i, ok := it.Get(name).(Instant); ok {
		return i.Time()
	}
	return time.Time{}
}
