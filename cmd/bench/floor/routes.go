package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/gorilla/mux"
)

// record is one element of a bulk save, in the request and in the answer.
type record struct {
	ItemID  string `json:"_id"`
	Class   string `json:"_class"`
	Version string `json:"_classVer"`
	note
}

// newRoutes returns handlers for the paths that restsrv has, so that the benchmark can send the same requests to both
// servers. Statements run with ctx, which is never cancelled by a request. With the context of the request,
// database/sql would start a goroutine for each statement.
func newRoutes(ctx context.Context, n *notes, pool *runtimes) http.Handler {
	r := mux.NewRouter()
	r.HandleFunc("/rest/crud/note@bench/{id}", func(w http.ResponseWriter, q *http.Request) {
		item, err := n.selectOne(ctx, n.get, mux.Vars(q)["id"])
		writeAnswer(w, item, err)
	}).Methods(http.MethodGet)
	r.HandleFunc("/rest/crud/note@bench/", func(w http.ResponseWriter, q *http.Request) {
		params := q.URL.Query()
		count := 5
		if s := params.Get("_count"); s != "" {
			count, _ = strconv.Atoi(s)
		}
		items, err := n.selectFirst(ctx, params.Get("group"), count)
		writeAnswer(w, items, err)
	}).Methods(http.MethodGet)
	r.HandleFunc("/rest/crud/note@bench/{id}", func(w http.ResponseWriter, q *http.Request) {
		var c change
		if err := json.NewDecoder(q.Body).Decode(&c); err != nil {
			writeAnswer(w, nil, err)
			return
		}
		item, err := n.editOne(ctx, mux.Vars(q)["id"], c)
		writeAnswer(w, item, err)
	}).Methods(http.MethodPatch)
	r.HandleFunc("/rest/acceptor", func(w http.ResponseWriter, q *http.Request) {
		var records []record
		err := json.NewDecoder(q.Body).Decode(&records)
		if err == nil {
			err = n.saveAll(ctx, records)
		}
		for i := range records {
			records[i].ID = records[i].ItemID
		}
		writeAnswer(w, records, err)
	}).Methods(http.MethodPost)
	r.HandleFunc("/rest/static", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, []byte(`{"echo":"peekaboo"}`))
	})
	r.HandleFunc("/rest/hello", pool.serve(pool.hello))
	r.HandleFunc("/rest/query", pool.serve(pool.query))
	addBare(ctx, r, n)
	return r
}

func writeAnswer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, text)
}

func writeJSON(w http.ResponseWriter, text []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.Write(text)
}
