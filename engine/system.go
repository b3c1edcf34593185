package engine

import (
	"context"
	"time"
)

// SystemClass returns a class for data of the server itself, such as accounts
// and sessions. Its name begins with #, which no class of an application can have.
// Its key is the first property. The others may be null, so that a later version
// can add properties to an older database. It panics if the properties do not
// form a class, because they are constants of the program. The store must be
// opened with the class in addition to the classes of the application. Services
// must not have access to it.
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

// SystemProperty returns a property of a system class.
func SystemProperty(name string, t PropertyType) *Property {
	return &Property{Name: name, Caption: name, Type: t}
}

// SystemIndexed returns an indexed property of a system class.
func SystemIndexed(name string, t PropertyType) *Property {
	p := SystemProperty(name, t)
	p.Indexed = true
	return p
}

// AsServer returns a context in which the server itself acts, and no permissions are checked. It is needed for items
// of system classes, on which no account has permissions.
func AsServer(ctx context.Context) context.Context {
	if AccountFrom(ctx) != nil {
		ctx = WithAccount(ctx, nil)
	}
	return WithGuard(ctx, nil)
}

// Named returns a value with its property name, as ValuesOf takes it.
func Named(name string, value any) Field { return Field{name, value} }

// ValuesOf returns the Values of an item of system class c. Properties without a
// given value are Absent. It panics if the class does not have a given property.
func ValuesOf(c *Class, sets ...Field) Values {
	v := NewValues(c)
	for _, s := range sets {
		v[c.Property(s.Name).Index] = s.Value
	}
	return v
}

// Text returns a text value of the item, or "" if it is null or not text.
func (it *Item) Text(name string) string {
	s, _ := it.Get(name).(string)
	return s
}

// Flag returns a boolean value of the item, or false if it is null.
func (it *Item) Flag(name string) bool {
	b, _ := it.Get(name).(bool)
	return b
}

// When returns a time of the item, or the zero time if it is null.
func (it *Item) When(name string) time.Time {
	if i, ok := it.Get(name).(Instant); ok {
		return i.Time()
	}
	return time.Time{}
}
