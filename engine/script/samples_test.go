package script

import (
	"os"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// sample loads a script of the repository.
func sample(t *testing.T, name string) (*app, *Generation) {
	t.Helper()
	text, err := os.ReadFile("../../scripts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 2)
	a.opts = service.Options{"className": "note@demo", "dataRepo": a.repo2()}
	return a, a.load(string(text))
}

func TestEchoSample(t *testing.T) {
	_, g := sample(t, "echo.js")
	expect(t, get(t, g), jsonType+`{"echo":"peekaboo"}`)
	expect(t, answer(send(t, g, request{method: "POST"})), jsonType+`{"echo":"peekaboo"}`)
}

func TestSimpleSample(t *testing.T) {
	_, g := sample(t, "simple.js")
	bob := &engine.Account{ID: "bob@local", Name: "Bob"}
	expect(t, answer(send(t, g, request{account: bob})), jsonType+`{"hello":"Bob"}`)
	expect(t, answer(send(t, g, request{account: bob, query: "name=Ann"})), jsonType+`{"hello":"Ann"}`)
	expect(t, answer(send(t, g, request{method: "POST", account: bob, contentType: "application/json", body: `{"a":[1]}`})),
		jsonType+`{"hello":"Bob","received":{"a":[1]}}`)
}

func TestStringListSample(t *testing.T) {
	_, g := sample(t, "string-list.js")
	const first = `{"__class":"note@demo","__classTitle":"Note","id":"g1","title":"note 0","n":0,"price":12.5,"at":"2024-02-03T04:05:06.000Z","done":true}`
	const second = `{"__class":"note@demo","__classTitle":"Note","id":"g2","title":"note 1","n":1,"price":12.5,"at":"2024-02-03T04:05:06.000Z","done":false}`
	for _, c := range []struct{ contentType, body, want string }{
		{"", "", "[" + first + "," + second + "]"},
		{"application/json", "{}", "[" + first + "," + second + "]"},
		{"application/json", `{"n":1}`, "[" + second + "]"},
		{"application/json", `{"n":1,"title":"note 0"}`, "[]"},
		{"application/x-www-form-urlencoded", "n=0&done=true", "[" + first + "]"},
	} {
		expect(t, answer(send(t, g, request{method: "POST", contentType: c.contentType, body: c.body})), jsonType+c.want)
	}
}
