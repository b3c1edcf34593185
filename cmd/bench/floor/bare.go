package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gorilla/mux"
)

// addBare adds handlers in Go with the same answers as the scripts, so that the benchmark can compare both.
func addBare(ctx context.Context, r *mux.Router, n *notes) {
	r.HandleFunc("/rest/bare/hello", func(w http.ResponseWriter, q *http.Request) {
		writeAnswer(w, map[string]string{"message": "hello, " + q.URL.Query().Get("name")}, nil)
	}).Methods(http.MethodGet)
	r.HandleFunc("/rest/bare/order", takeOrder).Methods(http.MethodPost)
	r.HandleFunc("/rest/bare/query", func(w http.ResponseWriter, q *http.Request) {
		items, err := n.selectFirst(ctx, q.URL.Query().Get("group"), 20)
		writeAnswer(w, items, err)
	}).Methods(http.MethodGet)
	r.HandleFunc("/rest/bare/labels", func(w http.ResponseWriter, q *http.Request) {
		items, err := n.selectFirst(ctx, q.URL.Query().Get("group"), 20)
		labels := make([]label, len(items))
		for i, item := range items {
			labels[i] = label{item.ID, strings.ToUpper(item.Title), utf8.RuneCountInString(item.Body)}
		}
		writeAnswer(w, labels, err)
	}).Methods(http.MethodGet)
}

type label struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Size  int    `json:"size"`
}

func takeOrder(w http.ResponseWriter, q *http.Request) {
	var in struct {
		Customer string `json:"customer"`
		Lines    []struct {
			Name  string  `json:"name"`
			Price float64 `json:"price"`
			Count float64 `json:"count"`
		} `json:"lines"`
		Note string `json:"note"`
	}
	err := json.NewDecoder(q.Body).Decode(&in)
	var out struct {
		Customer string  `json:"customer"`
		Lines    int     `json:"lines"`
		Total    float64 `json:"total"`
	}
	out.Customer, out.Lines = in.Customer, len(in.Lines)
	for _, l := range in.Lines {
		out.Total += l.Price * l.Count
	}
	writeAnswer(w, out, err)
}
