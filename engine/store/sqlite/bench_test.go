package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/store/storetest"
)

// benchStore returns a store of 10,000 items with a key and three texts, as in the sample application.
func benchStore(b *testing.B, synchronous string) (*store.Store, *engine.Class) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.GUID), storetest.Prop("name", engine.String, func(p *engine.Property) { p.Indexed = true }),
		storetest.Prop("text", engine.Text), storetest.Prop("html", engine.HTML))
	db, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "bench.db"), Synchronous: synchronous})
	if err != nil {
		b.Fatal(err)
	}
	st, err := store.Open(b.Context(), db, store.Config{Classes: []*engine.Class{c}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	})
	if _, err := st.Save(b.Context(), benchRecords(c, 0, 10000)); err != nil {
		b.Fatal(err)
	}
	return st, c
}

func benchRecords(c *engine.Class, from, n int) []engine.Record {
	records := make([]engine.Record, n)
	for i := range records {
		id := fmt.Sprintf("3f2504e0-4f89-11d3-9a0c-%012d", from+i)
		records[i] = engine.Record{Class: c, ID: id, Values: engine.Values{id, fmt.Sprintf("name %d", i%500), "first line\r\nsecond line of a text", "<p>some <b>formatted</b> text</p>"}}
	}
	return records
}

// request returns a context that can end, like the context of an HTTP request.
func request(b *testing.B) context.Context {
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	return ctx
}

func BenchmarkGet(b *testing.B) {
	st, c := benchStore(b, "normal")
	ctx := request(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := st.Get(ctx, c, "3f2504e0-4f89-11d3-9a0c-000000004711"); err != nil {
			b.Fatal(err)
		}
	}
}

func benchList(b *testing.B, q func(c *engine.Class) *engine.Query) {
	st, c := benchStore(b, "normal")
	ctx, query := request(b), q(c)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = out[:0]
		err := st.List(ctx, query, func(it *engine.Item) error {
			out = it.AppendJSON(out)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList5(b *testing.B) {
	benchList(b, func(c *engine.Class) *engine.Query { return &engine.Query{Class: c, Count: 5} })
}

func BenchmarkList100(b *testing.B) {
	benchList(b, func(c *engine.Class) *engine.Query { return &engine.Query{Class: c, Count: 100} })
}

func BenchmarkIndexed20(b *testing.B) {
	benchList(b, func(c *engine.Class) *engine.Query {
		return &engine.Query{Class: c, Count: 20, Filter: storetest.Compare(engine.OpEq, c.Property("name"), "name 250")}
	})
}

func BenchmarkUpdate(b *testing.B) {
	for _, synchronous := range []string{"normal", "full"} {
		b.Run(synchronous, func(b *testing.B) {
			st, c := benchStore(b, synchronous)
			ctx := request(b)
			b.ReportAllocs()
			for b.Loop() {
				v := engine.NewValues(c)
				v[2] = "another text"
				if _, err := st.Update(ctx, c, "3f2504e0-4f89-11d3-9a0c-000000004711", v, engine.WriteOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkUpdateTogether measures the effect of group commit.
func BenchmarkUpdateTogether(b *testing.B) {
	for _, synchronous := range []string{"normal", "full"} {
		b.Run(synchronous, func(b *testing.B) {
			st, c := benchStore(b, synchronous)
			ctx := request(b)
			b.SetParallelism(8)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					v := engine.NewValues(c)
					v[2] = "another text"
					if _, err := st.Update(ctx, c, "3f2504e0-4f89-11d3-9a0c-000000004711", v, engine.WriteOptions{}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkSave1000(b *testing.B) {
	for name, from := range map[string]int{"insert": 10000, "update": 0} {
		b.Run(name, func(b *testing.B) {
			st, c := benchStore(b, "normal")
			ctx := request(b)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				records := benchRecords(c, from, 1000)
				if name == "insert" {
					from += 1000
				}
				b.StartTimer()
				if _, err := st.Save(ctx, records); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
