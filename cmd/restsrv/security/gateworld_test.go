package security

// These tests define and check the property "an account learns nothing that it may not read",
// with random worlds: an account must get the same answers as on a database from which everything
// that it may not read was removed.
//
// A world is a random application with random data, three accounts with random grants, and random
// requests of each account (gateworld_make_test.go, gateworld_requests_test.go). For each account
// there are two copies of the world, in two namespaces. The first copy is the whole world. In the
// second copy, data are removed (see gateWorld.removal): hidden objects are deleted, so
// references to them dangle, and hidden attributes have no value. Class definitions and grants
// are the same. The account sends the same requests to both copies, and the status, headers and
// body of each answer must be the same.
//
// The definition has these exceptions:
//
//   - Keys and unique values. If a write uses the key or a unique value of a hidden object, the
//     whole copy refuses it and the other copy may accept it. In this case the comparison ends
//     there (see exempt). If the account has no permission for the write in the other copy, it
//     must get the same refusal in both copies.
//   - Objects that the account may change or delete but not read. They remain in the second
//     copy, without their values (see gateWorld.blanked), because the answer to a permitted
//     write shows that the object exists.
//   - Objects that the account may use but not read. A reference to such an object is permitted
//     if the object exists. In half of the worlds, these objects remain in the second copy,
//     without their values. In the other worlds, no request writes a reference to them.
//   - Attributes on which permissions depend (owner in the role map). They have their values in
//     both copies, because they decide which objects can be read. For the same reason no request
//     makes the account the owner of an object.
//   - The time at which a cached attribute is computed again. After a write of an object, the
//     server computes the cached attributes of the objects at the end of its cacheDependencies.
//     It also follows references that the account may not read. These references have their
//     values in both copies. Hidden objects that would pass a change on to a third object have
//     no such references.
//   - Cached attributes that are computed from themselves through display strings. Their values
//     depend on how often they were computed, so no world has them.
//   - Values that are random or that each write changes: revisions in strong ETags, ids of files
//     and of objects without a given id, times, positions in cursors, and the digest of the body
//     in a weak ETag.
//   - The time that an answer takes.

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// gateFinding is a request for which the answers of the two copies differ.
type gateFinding struct {
	world   *gateWorld
	account int
	request int
	whole   string // answer of the whole copy
	removed string // answer of the other copy
	log     string // errors of the server
}

func (f *gateFinding) String() string {
	return fmt.Sprintf("seed %d, %s\n%srequest %v\nwith everything the answer is\n%s\nwithout what is hidden\n%s\n%s", f.world.Seed, accountName(f.account),
		f.world.describe(f.account), f.world.Requests[f.account][f.request], f.whole, f.removed, f.log)
}

// brief returns the request and the first difference of the answers.
func (f *gateFinding) brief() string {
	at := 0
	for at < len(f.whole) && at < len(f.removed) && f.whole[at] == f.removed[at] {
		at++
	}
	at = max(0, at-60)
	return fmt.Sprintf("seed %d, %s: %.500v\nwith everything    …%.300q\nwithout the hidden …%.300q", f.world.Seed, accountName(f.account),
		f.world.Requests[f.account][f.request], f.whole[at:], f.removed[at:])
}

// TestGateWorlds checks that both copies of each world give the same answers. RESTSRV_WORLDS is the
// number of worlds (20), and RESTSRV_SEED the first seed (1). If a world fails, the test makes the
// world smaller before it prints it. If RESTSRV_BRIEF is set, it instead prints the first difference
// of the answers.
func TestGateWorlds(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("thousands of requests: the run without the race detector makes them")
	}
	number, seed := 20, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("RESTSRV_WORLDS")); err == nil {
		number = n
	}
	if n, err := strconv.ParseUint(os.Getenv("RESTSRV_SEED"), 10, 64); err == nil {
		seed = n
	}
	brief := os.Getenv("RESTSRV_BRIEF") != ""
	play := func(t *testing.T, db func(testing.TB) string) {
		t.Parallel()
		const together = 10 // number of worlds of one server
		failures := 0
		for at := 0; at < number && failures < 3; at += together {
			var worlds []*gateWorld
			for i := at; i < min(at+together, number); i++ {
				worlds = append(worlds, makeGateWorld(seed+uint64(i)))
			}
			findings, err := playGateWorlds(t, db, worlds)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				if brief {
					t.Errorf("LEAK: an account gets hidden data: %s", f.brief())
					continue
				}
				if failures++; failures <= 3 {
					t.Errorf("LEAK: an account gets hidden data: %v", shrinkGateWorld(t, db, f))
				}
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { play(t, func(testing.TB) string { return "" }) })
	t.Run("postgres", func(t *testing.T) { play(t, func(t testing.TB) string { return pgtest.Database(t) }) })
}

// playGateWorlds plays worlds on one server and returns the first finding of each
// account in each world.
func playGateWorlds(t testing.TB, db func(testing.TB) string, worlds []*gateWorld) (findings []*gateFinding, err error) {
	dir, err := os.MkdirTemp("", "worlds")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	done := &apptest.Scope{TB: t}
	defer done.End()
	s, err := serveGateWorlds(filepath.Join(dir, "app"), db(done), worlds)
	if err != nil {
		return nil, err
	}
	defer func() {
		if ended := s.Stop(); err == nil {
			err = ended
		}
	}()
	type result struct {
		world            *gateWorld
		account          int
		answers, without []string
		errs             [2]error
	}
	var all []*result
	var workers sync.WaitGroup
	slots := make(chan bool, 3)
	eachCopy(worlds, func(w *gateWorld, account int, namespace string, removed bool) {
		if !removed {
			all = append(all, &result{world: w, account: account})
		}
		r := all[len(all)-1]
		workers.Go(func() {
			slots <- true
			defer func() { <-slots }()
			side := &gateSide{server: s, world: w, account: account, namespace: namespace}
			if removed {
				r.without, r.errs[1] = side.play(removed)
			} else {
				r.answers, r.errs[0] = side.play(removed)
			}
		})
	})
	workers.Wait()
	for _, r := range all {
		for _, err := range r.errs {
			if err != nil {
				return nil, err
			}
		}
		if i := differing(r.world.Requests[r.account], r.answers, r.without); i >= 0 {
			findings = append(findings, &gateFinding{r.world, r.account, i, r.answers[i], r.without[i], s.Failures()})
		}
	}
	return findings, nil
}

// play creates the data of a copy, sends the requests and returns the answers.
func (side *gateSide) play(removed bool) (answers []string, err error) {
	if err := side.fill(removed); err != nil {
		return nil, err
	}
	for _, r := range side.world.Requests[side.account] {
		answer, err := side.answer(r)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// differing returns the index of the first request whose answers differ without an exception (see
// exempt), or -1.
func differing(requests []gateRequest, whole, removed []string) int {
	for i := range whole {
		switch {
		case whole[i] == removed[i]:
		case !exempt(requests[i], whole[i], removed[i]):
			return i
		case !refusal(removed[i]):
			return -1 // from here on, the copies contain different data
		}
	}
	return -1
}

// exempt reports whether the answers to a write may differ: the whole copy refuses it because a
// hidden object has the key or the unique value, and the other copy does not refuse it for lack
// of permission.
func exempt(r gateRequest, whole, removed string) bool {
	return r.Claims && refusal(whole) && !strings.Contains(removed, "the account may not do this")
}

// refusal reports whether an answer is an error. It also knows the errors that scripts return.
func refusal(answer string) bool {
	_, body, _ := strings.Cut(answer, "\n\n")
	return !strings.HasPrefix(answer, "2") || strings.HasPrefix(body, `["`) || strings.HasPrefix(body, `[403`) || strings.HasPrefix(body, `[400`)
}
