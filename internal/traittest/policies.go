package traittest

import (
	"encoding/json"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/lifecycle/defaults"
)

// Policies are the defaults.
var Policies = func() (p *lifecycle.Policies) {
	if err := json.Unmarshal(defaults.Traits(), &p); err != nil {
		panic(err)
	}
	return p
}()
