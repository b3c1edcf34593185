package platform

import "github.com/dop251/goja"

func utilNative(p *Platform) goja.Value { return goja.Undefined() }
