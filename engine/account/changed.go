package account

// OnChange has f called with the name of each account that is changed here, as
// soon as it is: what others remember of it ends then. It is for the start of
// the server, before the Store is used.
func (s *Store) OnChange(f func(id string)) { s.changed = append(s.changed, f) }
