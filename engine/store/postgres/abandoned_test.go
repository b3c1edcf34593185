package postgres_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/postgres"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/store/storetest"
)

// network is a connection to a server that can be cut. After the cut, existing connections stay open without any
// traffic, and new connections are refused.
type network struct {
	listener net.Listener
	cut      chan struct{}
	lose     atomic.Int32 // number of further cancellations that are dropped
}

// through creates a network, and returns it together with the address of the database over this network.
func through(t *testing.T, address string) (string, *network) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	sockets, err := filepath.Glob(filepath.Join(q.Get("host"), ".s.PGSQL.*"))
	for i := len(sockets) - 1; i >= 0; i-- {
		if strings.HasSuffix(sockets[i], ".lock") {
			sockets = append(sockets[:i], sockets[i+1:]...)
		}
	}
	if err != nil || len(sockets) != 1 {
		t.Skipf("the server of %s is not reached by one socket: %v, %v", address, sockets, err)
	}
	dir := t.TempDir()
	n := &network{cut: make(chan struct{})}
	if n.listener, err = net.Listen("unix", filepath.Join(dir, filepath.Base(sockets[0]))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.listener.Close() })
	go func() {
		for {
			in, err := n.listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", sockets[0])
			if err != nil {
				_ = in.Close()
				continue
			}
			go n.pass(in, out)
			go n.pass(out, in)
		}
	}()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return u.String(), n
}

func (n *network) pass(from, to net.Conn) {
	b := make([]byte, 32<<10)
	for {
		size, err := from.Read(b)
		select {
		case <-n.cut:
			return
		default:
		}
		if isCancellation(b[:size]) && n.lose.Add(-1) >= 0 {
			_ = from.Close()
			_ = to.Close()
			return
		}
		if err == io.EOF {
			_ = to.Close()
		}
		if err != nil {
			return
		}
		if _, err := to.Write(b[:size]); err != nil {
			return
		}
	}
}

// isCancellation reports whether a message is a CancelRequest (PostgreSQL 15, section
// 55.7).
func isCancellation(message []byte) bool {
	return len(message) == 16 && binary.BigEndian.Uint32(message[4:]) == 80877102
}

// TestLostCancellation checks that a read ends with its context although the first cancellation is lost. The effect is
// the same as if the cancellation had arrived before the statement.
func TestLostCancellation(t *testing.T) {
	direct := pgtest.Database(t)
	address, network := through(t, direct)
	c := storetest.NewClass("note", storetest.Prop("id", engine.String))
	st := openAt(t, address, c)
	if _, err := st.Count(t.Context(), &engine.Query{Class: c}); err != nil { // opens the connection
		t.Fatal(err)
	}
	pgtest.Execute(t, direct, `INSERT INTO "note@test" ("#class", "#ver", "#rev", "id") SELECT 'note@test', '', n, repeat('a', 60) || n FROM generate_series(1, 20000) AS n`)
	slow := &engine.Filter{Op: engine.OpOr}
	for i := range 300 {
		slow.Args = append(slow.Args, &engine.Filter{Op: engine.OpLike, Left: engine.Attribute(c.Property("id")), Pattern: fmt.Sprintf("(a|aa)+b%d$", i)})
	}
	network.lose.Store(1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		_, err := st.Count(ctx, &engine.Query{Class: c, Filter: slow})
		over <- err
	}()
	select {
	case err := <-over:
		if engine.CodeOf(err) != engine.Timeout {
			t.Errorf("got %v, want a timeout", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the reading still runs 28 seconds after its context ended")
	}
	if n := network.lose.Load(); n >= 1 {
		t.Errorf("no cancellation was lost")
	}
}

// TestAbandonedReadingEnds checks a long read while the network is broken. This process cannot end the read, so the
// database must do so.
func TestAbandonedReadingEnds(t *testing.T) {
	direct := pgtest.Database(t)
	address, network := through(t, direct)
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("body", engine.Text))
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address, Pool: 8})
	if err != nil {
		t.Fatal(err)
	}
	const readTime = time.Second
	st, err := store.Open(t.Context(), db, store.Config{Classes: []*engine.Class{c}, ReadTime: readTime})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go func() { _ = st.Close() }() }) // in a goroutine, because Close may wait for the network
	pgtest.Execute(t, direct, `INSERT INTO "note@test" ("#class", "#ver", "#rev", "id", "body") SELECT 'note@test', '', n, n::text, repeat('abcdefgh', 20000) FROM generate_series(1, 400) AS n`)
	slow, body := &engine.Filter{Op: engine.OpOr}, engine.Attribute(c.Property("body"))
	for i := range 400 {
		slow.Args = append(slow.Args, &engine.Filter{Op: engine.OpLike, Left: body, Pattern: "habcdefg[0-9]" + strings.Repeat("x", i%7)})
	}
	own, err := sql.Open("postgres", direct)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	running := func() (n int) { // statements that are executing, not only prepared
		if err := own.QueryRowContext(context.Background(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid() AND clock_timestamp() - query_start > interval '200 milliseconds'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	go func() { _, _ = st.Count(context.Background(), &engine.Query{Class: c, Filter: slow}) }()
	for deadline := time.Now().Add(10 * time.Second); running() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the reading did not begin")
		}
	}
	_ = network.listener.Close()
	close(network.cut)
	cut := time.Now()
	time.Sleep(2 * time.Second)
	if running() == 0 {
		t.Fatal("the reading is not long enough for the test, or the network is not cut")
	}
	for running() > 0 {
		if waited := time.Since(cut); waited > readTime+12*time.Second {
			t.Fatalf("the reading still runs %v after the network broke", waited)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("ended %v after the network broke", time.Since(cut).Round(time.Millisecond))
}
