package lifecycle

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle/defaults"
)

var policies = func() (p *Policies) {
	if err := json.Unmarshal(defaults.Traits(), &p); err != nil {
		panic(err)
	}
	return p
}()

// Each policy of the migrations that reflection needs has a field, and each field a policy.
func TestPoliciesAreThoseOfTheMigrations(t *testing.T) {
	t.Parallel()
	var stored, held map[string]float64
	require.NoError(t, json.Unmarshal(defaults.Traits(), &stored))
	delete(stored, "use_hours") // the database's alone
	text, err := json.Marshal(policies)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &held))
	require.Equal(t, stored, held)
}
