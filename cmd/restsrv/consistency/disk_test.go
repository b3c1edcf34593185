package consistency

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// disk is a model of a directory on a disk. It knows the data that processes have written, and
// which of these data survive a power cut. The content of a file survives after fsync of the
// file, and the names in a folder survive after fsync of the folder.
type disk struct {
	root  *node
	names []naming // changes of names without an fsync, in their order
	named int      // total number of changes of names
}

// node is a file or a folder.
type node struct {
	names map[string]*node // as processes see them; nil for a file
	sure  map[string]*node // after a power cut

	content []byte    // after a power cut
	writes  []writing // writes without an fsync
	synced  int       // number of writes that content already includes
}

// naming gives a node a name in a folder. If node is nil, it removes the name.
type naming struct {
	folder *node
	name   string
	node   *node
	number int
}

// writing is a write to a file. If data is nil, it sets the size of the file to at.
type writing struct {
	at   int64
	data []byte
}

func folder() *node { return &node{names: map[string]*node{}, sure: map[string]*node{}} }

// find returns the node at a path, or nil.
func (d *disk) find(path string) *node {
	n := d.root
	for _, name := range strings.Split(path, "/") {
		if name == "" || n == nil {
			continue
		}
		n = n.names[name]
	}
	return n
}

// name gives a node a path. If n is nil, it removes the path.
func (d *disk) name(path string, n *node) error {
	parent := d.find(filepath.Dir(path))
	if parent == nil || parent.names == nil {
		return fmt.Errorf("%s is in no folder", path)
	}
	name := filepath.Base(path)
	if n == nil {
		delete(parent.names, name)
	} else {
		parent.names[name] = n
	}
	d.named++
	d.names = append(d.names, naming{parent, name, n, d.named})
	return nil
}

func (m naming) apply(sure map[string]*node) {
	if m.node == nil {
		delete(sure, m.name)
	} else {
		sure[m.name] = m.node
	}
}

// now returns the current moment of a node. If it is passed to sync, sync includes all operations
// so far.
func (d *disk) now(n *node) int {
	if n.names == nil {
		return n.synced + len(n.writes)
	}
	return d.named
}

// sync makes the writes to a file, or the names in a folder, survive a power cut. It includes the
// operations before the given moment.
func (d *disk) sync(n *node, moment int) {
	if n.names == nil {
		for ; n.synced < moment; n.synced++ {
			n.content = n.writes[0].apply(n.content)
			n.writes = n.writes[1:]
		}
		return
	}
	d.names = slices.DeleteFunc(d.names, func(m naming) bool {
		if m.folder != n || m.number > moment {
			return false
		}
		m.apply(n.sure)
		return true
	})
}

func (w writing) apply(content []byte) []byte {
	if w.data == nil {
		if w.at <= int64(len(content)) {
			return content[:w.at]
		}
		return append(content, make([]byte, w.at-int64(len(content)))...)
	}
	if end := w.at + int64(len(w.data)); end > int64(len(content)) {
		content = append(content, make([]byte, end-int64(len(content)))...)
	}
	copy(content[w.at:], w.data)
	return content
}

// sector is the unit that a disk writes atomically.
const sector = 512

// cut writes the state after a power cut into a directory: all data that certainly survive, and a
// random part of the other data. From the other data it takes the first changes of names, and
// arbitrary sectors of each write.
func (d *disk) cut(t *testing.T, dir string, some func(n int) int) {
	t.Helper()
	extra := map[*node][]naming{}
	for _, m := range d.names[:some(len(d.names))] {
		extra[m.folder] = append(extra[m.folder], m)
	}
	d.root.leave(t, dir, extra, some)
}

func (n *node) leave(t *testing.T, path string, extra map[*node][]naming, some func(int) int) {
	t.Helper()
	if n.names == nil {
		content := slices.Clone(n.content)
		for _, w := range n.writes {
			content = w.tear(content, some)
		}
		apptest.WriteFile(t, path, string(content))
		return
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	names := maps.Clone(n.sure)
	for _, m := range extra[n] {
		m.apply(names)
	}
	for name, child := range names {
		child.leave(t, filepath.Join(path, name), extra, some)
	}
}

// tear applies some of the sectors of a write to the content.
func (w writing) tear(content []byte, some func(int) int) []byte {
	if w.data == nil {
		if some(1) == 1 {
			content = w.apply(content)
		}
		return content
	}
	for at := 0; at < len(w.data); at += sector {
		if some(1) == 1 {
			piece := writing{w.at + int64(at), w.data[at:min(at+sector, len(w.data))]}
			content = piece.apply(content)
		}
	}
	return content
}
