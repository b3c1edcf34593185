package store

func (sv *save) followFiles(t *table, from, to any) error { return nil }

func (s *Store) forgetFiles(w *session, t *table, keys []any) error { return nil }
