package script

// Sources returns the number of source files of all services.
func (m *Manager) Sources() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[string]bool{}
	for _, one := range m.services {
		if one.live != nil {
			one.live.files.each(func(s *source) { seen[s.path] = true })
		}
	}
	return len(seen)
}

// each calls visit for every file that was read.
func (f *files) each(visit func(*source)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.found {
		visit(s)
	}
}
