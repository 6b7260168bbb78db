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

// Every field has a policy in the migrations, and every trait policy that reflection needs has a
// field.
func TestPoliciesAreThoseOfTheMigrations(t *testing.T) {
	t.Parallel()
	var stored, held map[string]float64
	require.NoError(t, json.Unmarshal(defaults.Traits(), &stored))
	delete(stored, "use_hours") // used by the database only
	text, err := json.Marshal(policies)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &held))
	require.Equal(t, stored, held)
}
