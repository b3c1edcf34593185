// Package replay stores the answers of requests with an Idempotency-Key in the database, so that
// all processes that use the database can repeat the answers. It does not interpret the requests;
// the service that handles them does.
//
// A key has up to two rows, the claim and the result. The first request inserts the claim. The
// claim expires after ClaimTime, so that a process that died does not block the key for longer.
// The result is inserted in the transaction that saves the items of the request. Since its key is
// unique, a request takes effect only once, even if two processes believe that they have the
// claim.
package replay

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/quota"
	"restsrv/engine/service"
)

// How long keys are stored.
const (
	Lifetime  = 24 * time.Hour
	ClaimTime = time.Minute
)

// className is the name of the system class. No class of an application can have this name.
const className = "#idempotency"

// Class returns the system class of the rows. The store must be opened with it. Only this package should read or
// write its items.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	id, key := property("id", engine.GUID), property("key", engine.String)
	id.Autoassigned, key.Unique = true, true
	return engine.SystemClass(className,
		id,
		key,                                // hash of scope and key, with the prefix "run:" for a claim
		property("request", engine.String), // hash of the request
		indexed("expires", engine.DateTime),
		property("saved", engine.Text),  // for a result: the saved items as JSON
		property("answer", engine.Text), // status and headers as JSON; null until there is an answer
		property("body", engine.Text),
		indexed("account", engine.String), // account or network that is charged for the row; null in rows of older versions
		property("bytes", engine.Int),     // approximate size of a result; null for a claim
	)
}

// Config is the configuration of a Keeper.
type Config struct {
	Data   engine.Repository
	Class  *engine.Class // the class that Class returned; Data must have been opened with it
	Limits Limits
	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger     // nil means no log
}

// Keeper implements service.Replays with a repository.
type Keeper struct {
	cfg     Config
	sweeper *quota.Sweeper
	shares  shares
}

var _ service.Replays = (*Keeper)(nil)

// New returns a Keeper.
func New(cfg Config) *Keeper {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Limits.setDefaults()
	return &Keeper{cfg: cfg, sweeper: quota.NewSweeper(cfg.Data, cfg.Now, cfg.Log, cfg.Class),
		shares: shares{Quota: quota.New(quota.Config{Data: cfg.Data, Class: cfg.Class, Size: "bytes", Own: ownUsageTime, All: totalUsageTime, Now: cfg.Now})}}
}

const claimPrefix = "run:"

// Begin implements service.Replays.
func (k *Keeper) Begin(ctx context.Context, scope, key string, request []byte) (service.Attempt, error) {
	if !isPrintable(key) {
		return nil, engine.Errorf(engine.Invalid, "idempotency-key", "Idempotency-Key is 1 to 255 printable ASCII characters")
	}
	a := &attempt{keeper: k, key: hashTexts(scope, key), request: hashTexts(string(request)), owner: quota.OwnerOf(ctx)}
	k.sweeper.Begin()
	if full := k.admitKey(ctx, a.owner); full != nil {
		// If the key already has a result, the request gets the stored answer, even if the share
		// is used up.
		rows, err := a.findRows(ctx)
		if err != nil || rows[a.key] == nil {
			return nil, full
		}
	}
	// Each round removes expired rows or finds valid ones.
	for range 4 {
		claimed, err := a.insertClaim(ctx)
		if err != nil {
			return nil, err
		}
		done, again, err := a.lookUp(ctx, claimed)
		if err != nil || done {
			return a, err
		}
		if !again {
			break
		}
	}
	return nil, runningError()
}

func runningError() error {
	e := engine.Errorf(engine.Conflict, "idempotency-running", "the first request with this Idempotency-Key is still running")
	e.RetryAfter = time.Second
	return e
}

func isPrintable(key string) bool {
	for i := 0; i < len(key); i++ {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return len(key) >= 1 && len(key) <= 255
}

// hashTexts returns a hash of several texts. "ab", "c" and "a", "bc" have different hashes.
func hashTexts(texts ...string) string {
	sum := sha256.New()
	for _, t := range texts {
		one := sha256.Sum256([]byte(t))
		sum.Write(one[:])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// attempt implements service.Attempt.
type attempt struct {
	keeper  *Keeper
	key     string
	request string
	owner   string // account that is charged for the key, or network if the account is anonymous
	rights  string // rights that the account had when the stored answer was made
	stored  int64  // bytes of the result in its row
	claimID string // row of the claim, if it belongs to this attempt
	result  string // row of the result, if there is one
	answer  *service.Response
	saved   []service.SavedItem
}

func (k *Keeper) values(sets ...engine.Field) engine.Values {
	return engine.ValuesOf(k.cfg.Class, sets...)
}

func (k *Keeper) timeAfter(d time.Duration) engine.Instant {
	return engine.InstantOf(k.cfg.Now().Add(d))
}

// Sweep removes expired rows.
func (k *Keeper) Sweep(ctx context.Context) error { return k.sweeper.Sweep(ctx) }

// insertClaim inserts the claim of the key. It returns false if another request has the claim.
func (a *attempt) insertClaim(ctx context.Context) (bool, error) {
	if a.claimID != "" {
		return true, nil
	}
	k := a.keeper
	v := k.values(engine.Named("key", claimPrefix+a.key), engine.Named("request", a.request), engine.Named("expires", k.timeAfter(ClaimTime)),
		engine.Named("account", a.owner))
	it, err := k.cfg.Data.Create(ctx, k.cfg.Class, v, engine.WriteOptions{})
	if engine.IsDuplicate(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	a.claimID = it.ID
	k.shares.Add(a.owner, 1, 0)
	return true, nil
}

// lookUp reads the rows of the key.
//
//   - If done is true, the attempt can go on: it runs the request or repeats a stored answer.
//   - If again is true, the caller should try to insert the claim again, because an expired row
//     was removed, or because the claim of another request has disappeared.
//   - If both are false, another request with the key is still running.
//
// claimed reports whether this attempt has the claim.
func (a *attempt) lookUp(ctx context.Context, claimed bool) (done, again bool, err error) {
	rows, err := a.findRows(ctx)
	if err != nil {
		return false, false, a.Failed(ctx, err)
	}
	now := engine.InstantOf(a.keeper.cfg.Now())
	claim, result := rows[claimPrefix+a.key], rows[a.key]
	switch {
	case result != nil && isExpired(result, now):
		return false, true, a.removeRow(ctx, result)
	case result != nil:
		return a.repeatResult(ctx, result, claimed || claim == nil || isExpired(claim, now))
	case claimed:
		return true, false, nil
	case claim == nil:
		return false, true, nil // it has ended since
	case isExpired(claim, now):
		return false, true, a.removeRow(ctx, claim)
	case claim.Text("request") != a.request:
		return false, false, reusedError()
	}
	return false, false, nil
}

func isExpired(it *engine.Item, now engine.Instant) bool {
	expires, ok := it.Get("expires").(engine.Instant)
	return ok && expires <= now
}

func reusedError() error {
	return engine.Errorf(engine.Unprocessable, "idempotency-key", "this Idempotency-Key came with another request before")
}

// repeatResult uses the stored result of the first request. If the result contains the answer,
// the attempt repeats it. If not, the first request has saved its items but has not stored its
// answer. unclaimed means that no other request has a valid claim, so the first request is not
// running any more: then this attempt makes the answer again. Otherwise the first request may
// still be running. again is always false.
func (a *attempt) repeatResult(ctx context.Context, result *engine.Item, unclaimed bool) (done, again bool, err error) {
	if result.Text("request") != a.request {
		return false, false, a.Failed(ctx, reusedError())
	}
	if err := a.readResult(result); err != nil {
		return false, false, a.Failed(ctx, err)
	}
	if a.answer != nil {
		_ = a.Failed(ctx, nil)
		return true, false, nil
	}
	a.result = result.ID
	return unclaimed, false, nil
}

// findRows returns the rows of the key. The map key of a row is its own property "key".
func (a *attempt) findRows(ctx context.Context) (map[string]*engine.Item, error) {
	c := a.keeper.cfg.Class
	f, err := query.AnyOf(c.Property("key"), []any{a.key, claimPrefix + a.key})
	if err != nil {
		return nil, err
	}
	rows := map[string]*engine.Item{}
	err = a.keeper.cfg.Data.List(ctx, &engine.Query{Class: c, Filter: f, Count: -1}, func(it *engine.Item) error {
		rows[it.Text("key")] = it.Clone()
		return nil
	})
	return rows, err
}

// removeRow removes an expired row. It is no error if another process has already removed the
// row.
func (a *attempt) removeRow(ctx context.Context, it *engine.Item) error {
	err := a.keeper.cfg.Data.Delete(ctx, a.keeper.cfg.Class, it.ID, nil)
	if engine.CodeOf(err) == engine.NotFound {
		return nil
	}
	return err
}

// answer is the stored form of an answer without its body.
type answer struct {
	Status      int         `json:"status"`
	ContentType string      `json:"contentType,omitempty"`
	Header      http.Header `json:"header,omitempty"`
	Base64      bool        `json:"base64,omitempty"` // the body is not text
	Rights      string      `json:"rights,omitempty"` // rights of the account when the answer was made
}

func (a *attempt) readResult(it *engine.Item) error {
	var saved [][2]string
	if err := json.Unmarshal([]byte(it.Text("saved")), &saved); err != nil {
		return engine.Wrap(err, "the saved items of a request could not be read")
	}
	a.saved = []service.SavedItem{}
	for _, s := range saved {
		a.saved = append(a.saved, service.SavedItem{Class: s[0], ID: s[1]})
	}
	a.stored, _ = it.Get("bytes").(int64)
	head := it.Text("answer")
	if head == "" {
		return nil
	}
	var in answer
	if err := json.Unmarshal([]byte(head), &in); err != nil {
		return engine.Wrap(err, "the answer of a request could not be read")
	}
	body := []byte(it.Text("body"))
	if in.Base64 {
		var err error
		if body, err = base64.StdEncoding.DecodeString(string(body)); err != nil {
			return engine.Wrap(err, "the answer of a request could not be read")
		}
	}
	a.rights = in.Rights
	a.answer = &service.Response{Status: in.Status, ContentType: in.ContentType, Header: in.Header, Body: body}
	return nil
}

// Answer implements service.Attempt.
func (a *attempt) Answer() *service.Response { return a.answer }

// Rights implements service.Attempt.
func (a *attempt) Rights() string { return a.rights }

// Saved implements service.Attempt.
func (a *attempt) Saved() []service.SavedItem { return a.saved }

// Record implements service.Attempt.
func (a *attempt) Record() engine.Record {
	k := a.keeper
	return engine.Record{Class: k.cfg.Class, Make: func(items []*engine.Item) (engine.Values, error) {
		b := []byte{'['}
		for i, it := range items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(engine.AppendString(append(b, '['), it.Class.FullName), ',')
			b = append(engine.AppendString(b, it.ID), ']')
		}
		a.stored = int64(rowBytes + len(b))
		return k.values(engine.Named("key", a.key), engine.Named("request", a.request), engine.Named("expires", k.timeAfter(Lifetime)), engine.Named("saved", string(append(b, ']'))),
			engine.Named("account", a.owner), engine.Named("bytes", a.stored)), nil
	}}
}

// ending is the time limit for storing the answer and deleting the claim. These writes are made even if the request
// has ended.
const ending = 5 * time.Second

// Finish implements service.Attempt.
func (a *attempt) Finish(ctx context.Context, r *service.Response, rights string) {
	a.keeper.shares.Add(a.owner, 0, a.stored)
	if int64(len(r.Body)) > a.keeper.cfg.Limits.Answer {
		_ = a.Failed(ctx, nil) // a repetition makes the answer again from the saved items
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	head := answer{Status: r.Status, ContentType: r.ContentType, Header: r.Header, Rights: rights}
	body := string(r.Body)
	if !utf8.ValidString(body) || strings.ContainsRune(body, 0) { // PostgreSQL cannot store these as text
		head.Base64, body = true, base64.StdEncoding.EncodeToString(r.Body)
	}
	text, err := json.Marshal(head)
	if err == nil {
		err = a.storeAnswer(ctx, string(text), body)
	}
	if err != nil {
		a.keeper.cfg.Log.Warn("the answer of a request with an Idempotency-Key could not be stored; a repetition will make it again", "error", err)
	}
	_ = a.Failed(ctx, nil)
}

func (a *attempt) storeAnswer(ctx context.Context, head, body string) error {
	k := a.keeper
	if a.result == "" {
		rows, err := a.findRows(ctx)
		if err != nil {
			return err
		}
		if rows[a.key] == nil {
			return errors.New("the request saved no records")
		}
		a.result = rows[a.key].ID
	}
	added := int64(len(head) + len(body))
	k.shares.Add(a.owner, 0, added)
	_, err := k.cfg.Data.Update(ctx, k.cfg.Class, a.result, k.values(engine.Named("answer", head), engine.Named("body", body), engine.Named("bytes", a.stored+added)), engine.WriteOptions{})
	return err
}

// Failed implements service.Attempt.
func (a *attempt) Failed(ctx context.Context, failure error) error {
	if a.claimID != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
		defer cancel()
		err := a.keeper.cfg.Data.Delete(ctx, a.keeper.cfg.Class, a.claimID, nil)
		if err != nil && engine.CodeOf(err) != engine.NotFound {
			a.keeper.cfg.Log.Debug("the claim of an Idempotency-Key could not be deleted; it stays until it expires", "error", err)
		}
		a.claimID = ""
	}
	var e *engine.Error
	if engine.IsDuplicate(failure) && errors.As(failure, &e) && e.Class == className {
		return runningError() // another attempt was faster: the next repetition gets its answer
	}
	return failure
}
