package storetest

import (
	"testing"

	"restsrv/engine"
)

// Family is a repository with classes that inherit from each other: cars and houses are things, and a bus is a car.
type Family struct {
	engine.Repository
	Thing, Car, Bus, House *engine.Class
}

// OpenFamily opens a repository with the classes of a Family and one item of each class.
func OpenFamily(t *testing.T, open Open) *Family {
	f := &Family{}
	f.Thing = NewClass("thing", Prop("id", engine.String), Prop("name", engine.String))
	f.Car = Extend(f.Thing, "car", Prop("wheels", engine.Int), Prop("price", engine.DecimalNum))
	f.Bus = Extend(f.Car, "bus", Prop("seats", engine.Int), Prop("since", engine.DateTime))
	f.House = Extend(f.Thing, "house", Prop("floors", engine.Int), Prop("price", engine.DecimalNum))
	f.Repository = open(t, []*engine.Class{f.Thing, f.Car, f.Bus, f.House})
	Create(t, f, f.Thing, "id", "t", "name", "stone")
	Create(t, f, f.Car, "id", "c", "wheels", int64(4), "price", engine.Decimal("9.5"))
	Create(t, f, f.Bus, "id", "b", "wheels", int64(6), "seats", int64(50), "since", engine.Instant(7))
	Create(t, f, f.House, "id", "h", "floors", int64(2), "price", engine.Decimal("100"))
	return f
}
