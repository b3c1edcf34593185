package script

// Sources is the number of files that the services are made of.
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

// each visits the files that were read.
func (f *files) each(visit func(*source)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.found {
		visit(s)
	}
}
