package server

import "time"

// Hurry shortens the time that a request may take, and that it waits for its turn.
func (cfg *Config) Hurry(timeout, wait time.Duration) { cfg.timeout, cfg.wait = timeout, wait }

// Owed returns how much time the requests of a user with tokens or a person's key owe.
func (s *Server) Owed(user string) (owed time.Duration) {
	s.budgets.mu.Lock()
	defer s.budgets.mu.Unlock()
	for whose, its := range s.budgets.each {
		if whose.user == user {
			owed += its.owed
		}
	}
	return owed
}
