package chaos

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

func TestPlanFollowsFromSeed(t *testing.T) {
	t.Parallel()
	plan := NewPlan(7, time.Minute)
	require.Equal(t, plan, NewPlan(7, time.Minute))
	require.Equal(t, plan.Digest(), NewPlan(7, time.Minute).Digest())
	require.NotEqual(t, plan.Digest(), NewPlan(8, time.Minute).Digest())
	require.NotEqual(t, plan.Digest(), NewPlan(7, 2*time.Minute).Digest())
}

// In twenty seeds, everything happens.
func TestPlansHaveEverything(t *testing.T) {
	t.Parallel()
	faults, points, actions, behind := map[string]int{}, map[string]int{}, map[string]int{}, 0
	for seed := range uint64(20) {
		p := NewPlan(seed, 5*time.Minute)
		if p.Behind {
			behind++
		}
		for _, f := range p.Faults {
			require.Less(t, f.At, p.Duration)
			faults[f.Kind]++
			points[f.Point]++
		}
		for _, of := range p.Actions {
			for _, a := range of {
				actions[a.Kind]++
			}
		}
	}
	require.Positive(t, behind)
	require.Less(t, behind, 20)
	require.Len(t, faults, len(faultKinds), "%v", faults)
	for _, point := range slices.Concat(failpoint.Worker(), embeddingFaults, chatFaults, webhookFaults) {
		require.Positive(t, points[point], point)
	}
	for _, of := range [][]weighted{otherActions, {{"erase user", 1}, {"common", 1}, {"strategy", 1}}} {
		for _, a := range of {
			require.Positive(t, actions[a.kind], a.kind)
		}
	}
	require.Len(t, actions, len(otherActions)+3, "%v", slices.Sorted(maps.Keys(actions)))
}

func TestMarks(t *testing.T) {
	t.Parallel()
	m := mark{7, 2, 123}
	require.Equal(t, []mark{m, {30, 0, -1}, {1, 10, 90001}},
		marksIn("在仓库里找到了"+m.String()+"号箱子, says "+mark{30, 0, 5}.ofUser()+"; ZK01E10N90001."))
	require.Empty(t, marksIn("a bicycle"))
	require.Equal(t, 7, userOf(userName(7)))
	require.Equal(t, -1, userOf("user-7"))
}
