package js

import "github.com/dop251/goja"

// LazyArray is a JavaScript array that converts each element when a script first accesses it.
type LazyArray struct {
	size    int                  // length while objects is nil
	build   func(int) goja.Value // makes element i
	objects []goja.Value         // nil until an element is read or set
	limit   int                  // maximum length that a script can give the array
	made    *uint64              // counts the elements that were made
}

// NewLazyArray returns an array of size elements. build makes the element i, and each call of build adds 1 to *made.
// Scripts can extend the array up to limit elements.
func NewLazyArray(size, limit int, made *uint64, build func(int) goja.Value) LazyArray {
	return LazyArray{size: size, build: build, limit: limit, made: made}
}

// ensureObjects allocates the slice objects, which is not needed as long as no script accesses an element.
func (l *LazyArray) ensureObjects() {
	if l.objects == nil {
		l.objects = make([]goja.Value, l.size)
	}
}

// Len implements goja.DynamicArray.
func (l *LazyArray) Len() int {
	if l.objects != nil {
		return len(l.objects)
	}
	return l.size
}

// Get implements goja.DynamicArray. It returns nil if i is out of range.
func (l *LazyArray) Get(i int) goja.Value {
	if i < 0 || i >= l.Len() {
		return nil
	}
	l.ensureObjects()
	if l.objects[i] == nil {
		l.objects[i] = l.build(i)
		*l.made++
	}
	return l.objects[i]
}

// Set implements goja.DynamicArray. It extends the array if necessary, up to
// limit.
func (l *LazyArray) Set(i int, v goja.Value) bool {
	if i < 0 || i >= l.limit {
		return false
	}
	l.ensureObjects()
	if i >= len(l.objects) {
		l.SetLen(i + 1)
	}
	if v == nil {
		v = goja.Undefined()
	}
	l.objects[i] = v
	return true
}

// SetLen implements goja.DynamicArray. New elements are undefined.
func (l *LazyArray) SetLen(n int) bool {
	if n < 0 || n > l.limit {
		return false
	}
	l.ensureObjects()
	for len(l.objects) < n {
		l.objects = append(l.objects, goja.Undefined())
	}
	l.objects = l.objects[:n]
	return true
}
