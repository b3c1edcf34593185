package security

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
)

// TestSlowBodies checks clients that announce a body and never send it, with and without
// credentials. Every request must get an answer, and its connection must end.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.WriteApplication(t, map[string]string{
		"deploy.json": `{"namespace": "sample", "classes": [{"name": "note", "properties": [{"name": "title", "type": "string"}]}],
			"modules": {"rest": {"globals": {"di": {"echo": {"module": "builtin/echo"}, "crud": {"module": "builtin/crud"}}, "authMode": {"echo": "none"}}}}}`,
	}))
	basic := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("admin@local:"+apptest.AdminPassword)) + "\r\n"
	var all sync.WaitGroup
	for head, want := range map[string]int{
		"POST /rest/nowhere HTTP/1.1\r\n":                  404,
		"GET /livez HTTP/1.1\r\n":                          200,
		"GET /rest/echo HTTP/1.1\r\n":                      200,
		"POST /rest/crud/note@sample HTTP/1.1\r\n":         401,
		"POST /rest/crud/note@sample HTTP/1.1\r\n" + basic: 400,
	} {
		all.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(60 * time.Second))
			fmt.Fprint(conn, head+"Host: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
			in := bufio.NewReader(conn)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Errorf("%q: %v", head, err)
				return
			}
			if resp.StatusCode != want {
				t.Errorf("%q: got %d, want %d", head, resp.StatusCode, want)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("%q: got %v, want the end of the connection", head, err)
			}
		})
	}
	all.Wait()
}
