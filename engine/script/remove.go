package script

import (
	"context"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// remove(id) releases a file that the call has stored, so that it is removed
// later. If an item holds the file, remove fails, because the file is removed
// together with the attribute.
func (s *jsStorage) remove(call goja.FunctionCall) (operation, error) {
	id := call.Argument(0).String()
	held, env := localOf[claims](s.h.cur), s.h.service.env
	fs := engine.Files{Storage: s.storage, Data: env.Data, Meta: env.Meta}
	return operation{writes: true, do: func(ctx context.Context) (func() goja.Value, error) {
		if held.dropFile(id) {
			return goja.Undefined, nil
		}
		_, err := fs.Readable(ctx, id)
		switch {
		case err == nil:
			return nil, engine.Errorf(engine.Invalid, "file-held", "file %s is held by an object: it is removed when the attribute is set to null or the object is deleted", engine.Quote(id))
		case engine.CodeOf(err) == engine.NotFound:
			return goja.Undefined, nil
		}
		return nil, err
	}}, nil
}

// dropFile removes a file from the claims. It returns false if the call has no
// such file or an item holds it.
func (c *claims) dropFile(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.files[id]; !ok || c.used[id] {
		return false
	}
	delete(c.files, id)
	return true
}
