package store_test

import (
	"log/slog"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

// TestDeleteWithoutGrants checks that an item without grants is deleted by one
// statement, even if there are grants on other items of the class.
func TestDeleteWithoutGrants(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		permission := engine.SystemClass("#permission", storetest.Prop("id", engine.String), storetest.Prop("resource", engine.String, func(p *engine.Property) { p.Indexed = true }))
		policy := engine.SystemClass("#policy", storetest.Prop("id", engine.String))
		doc := storetest.NewClass("doc", storetest.Prop("id", engine.String))
		var log strings.Builder
		db, err := p.open()
		if err != nil {
			t.Fatal(err)
		}
		st, err := store.Open(t.Context(), db, store.Config{Classes: []*engine.Class{permission, policy, doc}, PermissionClass: permission, PolicyClass: policy,
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		defer closeStore(t, st)
		for _, id := range []string{"a", "b", "c"} {
			if _, err := st.Create(t.Context(), doc, engine.Values{id}, engine.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := st.Create(t.Context(), permission, engine.Values{"x", "i:::doc@test@c"}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]int{"a": 1, "c": 4} { // for c: an attempt that finds a grant, the deletion, that of the grants, the policy
			log.Reset()
			if err := st.Delete(t.Context(), doc, id, nil); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(log.String(), "DELETE FROM") + strings.Count(log.String(), "UPDATE "); got != want {
				t.Errorf("delete %s: got %d statements, want %d:\n%s", id, got, want, log.String())
			}
		}
	})
}
