package exchange

import (
	"strings"
	"testing"

	"restsrv/engine"
)

func TestQuery(t *testing.T) {
	for query, want := range map[string]string{
		"":                               `{}`,
		"a=1&b=2":                        `{"a":"1","b":"2"}`,
		"a=1&a=2":                        `{"a":["1","2"]}`,
		"a[]=x&a[]=y":                    `{"a":["x","y"]}`,
		"a[]=x":                          `{"a":["x"]}`,
		"a[0]=x&a[1]=y":                  `{"a":["x","y"]}`,
		"a[20]=x":                        `{"a":["x"]}`,
		"a[21]=x":                        `{"a":{"21":"x"}}`,
		"a[b]=1&a[c][d]=2":               `{"a":{"b":"1","c":{"d":"2"}}}`,
		"a.b=1":                          `{"a.b":"1"}`,
		"d":                              `{"d":""}`,
		"d=&=x":                          `{"d":"","":"x"}`,
		"__proto__=1&a[__proto__]=2&b=3": `{"b":"3"}`,
		"a=%zz+b":                        `{"a":"%zz b"}`,
		"_eager=a|b":                     `{"_eager":"a|b"}`,
		"0=x":                            `{"0":"x"}`,
		"&a=1&&b&":                       `{"a":"1","b":""}`,
		"%5f_proto__=1&b=3":              `{"b":"3"}`,
		"a%5Bb%5d=1":                     `{"a":{"b":"1"}}`,
		"a=1&b=2&%61=3":                  `{"a":["1","3"],"b":"2"}`,
		"a&b&c&d&e&f&g&h&i=1&a=2":        `{"a":["","2"],"b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":"1"}`,
		"a[b][c][d][e][f][g]=1":          `{"a":{"b":{"c":{"d":{"e":{"f":{"[g]":"1"}}}}}}}`,
		"a[=1":                           `{"a[":"1"}`,
	} {
		if got := string(engine.AppendValue(nil, parseQuery(query))); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	if n := len(parseQuery(strings.Repeat("a=1&", 5000))); n != 1 {
		t.Errorf("got %d names", n)
	}
}
