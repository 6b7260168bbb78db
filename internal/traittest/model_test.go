package traittest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every field of lifecycle.Policies has a policy in the migrations, and every trait policy that
// reflection needs has a field.
func TestPoliciesAreThoseOfTheMigrations(t *testing.T) {
	t.Parallel()
	var stored, held map[string]float64
	require.NoError(t, json.Unmarshal(defaults(), &stored))
	delete(stored, "use_hours") // used by the database only
	text, err := json.Marshal(Policies.Policies)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &held))
	require.Equal(t, stored, held)
}
