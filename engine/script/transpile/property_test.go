package transpile

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
)

func TestPattern(t *testing.T) {
	cases := []struct{ pattern, flags, yes, no string }{
		{`^\p{L}+$`, "u", "Привет", "a1"},
		{`^\p{Letter}+$`, "u", "Привет", "a 1"},
		{`^\p{gc=Lu}\p{General_Category=Lowercase_Letter}$`, "u", "Яя", "яЯ"},
		{`^\P{L}+$`, "u", "123 -", "12я"},
		{`^[\p{L}\d_]+$`, "u", "имя_1", "имя-1"},
		{`^[^\p{L}\]]+$`, "u", "1-[", "1]"},
		{`^[\P{L}я]+$`, "u", "1я2", "1а"},
		{`^[^\P{L}]+$`, "u", "яa", "1"},
		{`^\p{Lu}$`, "iu", "я", "1"},
		{`^\P{Lu}$`, "iu", "Я", ""},
		{`^\p{Script=Cyrillic}+$`, "u", "Ёж", "Yozh"},
		{`^\p{sc=Cyrl}\p{sc=Greek}$`, "u", "яω", "ωя"},
		{`^\p{Alphabetic}\p{White_Space}\p{Nd}$`, "u", "я\u00a0٣", "я_3"},
		{`^\p{Emoji}$`, "u", "😀", "я"},
		{`^\p{Extended_Pictographic}+$`, "u", "😀❤", "1"},
		{`^(?=\p{Lu})\p{L}{2,3}(?<=\p{Ll})$`, "u", "Яяя", "яЯ"},
		{`^(\p{L})\1$`, "u", "яя", "яю"},
		{`^\p{Deseret}`, "u", "", ""},
		{`^\p{sc=Deseret}$`, "u", "\U00010400", "A"},
		{`^[\p{sc=Deseret}a]$`, "u", "\U00010401", "b"},
		{`^\P{ASCII}$`, "u", "\U0001F600", "a"},
		{`^\p{ID_Start}\p{ID_Continue}*$`, "u", "имя1", "1имя"},
		{`^\p{Any}\p{Assigned}$`, "u", "аб", "а"},
		{`^\p{P}\p{S}$`, "u", "!+", "+!"},
		{`^\\p{L}$`, "u", "", ""},
		{`^\p{L}$`, "", "p{L}", "я"},
		{`^[\p{Uppercase}\p{Lowercase}\-\]]+$`, "u", "aЯ-]", "1"},
	}
	vm := goja.New()
	construct, _ := goja.AssertConstructor(vm.Get("RegExp"))
	for _, c := range cases {
		turned, err := Pattern(c.pattern, c.flags)
		if c.yes == "" && c.no == "" {
			if c.pattern == `^\\p{L}$` && turned == c.pattern && err == nil || err != nil {
				continue
			}
			t.Errorf("%s: got %q, %v", c.pattern, turned, err)
			continue
		}
		re, err := construct(nil, vm.ToValue(turned), vm.ToValue(c.flags))
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		test, _ := goja.AssertFunction(re.Get("test"))
		for text, want := range map[string]bool{c.yes: true, c.no: false} {
			if got, err := test(re, vm.ToValue(text)); err != nil || got.ToBoolean() != want {
				t.Errorf("/%s/%s of %q: got %v, %v", c.pattern, c.flags, text, got, err)
			}
		}
	}
}

func TestUnknownProperties(t *testing.T) {
	for pattern, want := range map[string]string{
		`\p{Nope}`:                 `\p{Nope}: there is no such property`,
		`\p{Script=Nope}`:          `\p{Script=Nope}: there is no such property`,
		`\P{scx=Cyrl}`:             `\p{scx=Cyrl}: Script_Extensions is not supported; Script=Cyrl is`,
		`\pL`:                      `\p is no escape under the flag u`,
		`[\p{L]`:                   `\p is no escape under the flag u`,
		`\p{General_Category=Foo}`: `there is no such property`,
		`\p{RGI_Emoji}`:            `there is no such property`,
	} {
		if _, err := Pattern(pattern, "u"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}
