package engine

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
)

// Fingerprint returns 8 hex digits that change if the metadata change on which the
// JSON of an item depends. The first call computes it, because it covers every
// class that can be reached from c, which may be all classes.
func (c *Class) Fingerprint() string { return c.print() }

// fingerprint returns a hash of the class, its relatives and all classes that can
// be reached from them through references and collections, because display
// strings, labels and calculated values of an item can depend on all of these.
func (c *Class) fingerprint() string {
	sum := fnv.New32a()
	c.visitReachable(func(at *Class) { _, _ = sum.Write(at.digest) })
	return hex.EncodeToString(binary.BigEndian.AppendUint32(nil, sum.Sum32()))
}

// visitReachable visits the class, its relatives and all classes that can be reached from
// them through references and collections, each once.
func (c *Class) visitReachable(visit func(*Class)) {
	met := map[*Class]bool{c: true}
	var next []*Class
	meet := func(r *Class) {
		if r != nil && !met[r] {
			met[r] = true
			next = append(next, r)
		}
	}
	for at := c; ; at, next = next[0], next[1:] {
		visit(at)
		meet(at.Ancestor)
		for _, d := range at.Descendants {
			meet(d)
		}
		for _, p := range at.Properties {
			meet(p.Target)
		}
		if len(next) == 0 {
			return
		}
	}
}

// hash returns a hash of the definitions in the class itself that affect the JSON
// of its items.
func (c *Class) hash() []byte {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s|%s|%s|", c.FullName, c.Caption, c.Semantic)
	for _, p := range c.Properties {
		fmt.Fprintf(sum, "%s:%d:%d", p.Name, p.Type, p.Size)
		_, _ = sum.Write(AppendValue(nil, p.Source)) // formula, labels, display string
		for _, kind := range p.Thumbnails {
			_, _ = sum.Write([]byte(kind.Name))
		}
	}
	semantic, _ := c.Source.Get("semantic") // set if it is a formula
	_, _ = sum.Write(AppendValue(nil, semantic))
	return sum.Sum(nil)
}
