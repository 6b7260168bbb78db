package rules

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

func TestClusters(t *testing.T) {
	t.Parallel()
	trait := func(key, content string, subtype lifecycle.Subtype, c float64) reasoner.Trait {
		return reasoner.Trait{ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(key)), Key: key, Content: content,
			Subtype: subtype, Stage: traittest.Policies.StageOf(c), Confidence: c}
	}
	policies := *traittest.Policies.Policies
	reflect := func(traits ...reasoner.Trait) []reasoner.Cluster {
		p, err := New().Reflect(context.Background(), reasoner.Batch{Policies: &policies, Now: later, Traits: traits})
		require.NoError(t, err)
		return p.Clusters
	}
	run, swim := trait("do:running", "经常跑步", lifecycle.Behavior, 0.6),
		trait("do:swimming", "经常游泳", lifecycle.Behavior, 0.55)
	all := reflect(run, swim, trait("do:chess", "经常下棋", lifecycle.Behavior, 0.9))
	require.Equal(t, []reasoner.Cluster{{Key: "group:sport", Subtype: lifecycle.Preference, Content: "喜欢运动",
		Members: []uuid.UUID{run.ID, swim.ID}}}, all)
	unsure := trait("do:swimming", "经常游泳", lifecycle.Behavior, 0.49)
	require.Empty(t, reflect(run, unsure), "not sure enough")
	policies.PromotePreference = 0.49
	require.Len(t, reflect(run, unsure), 1)
	policies = *traittest.Policies.Policies
	require.Empty(t, reflect(run, swim, trait("group:sport", "喜欢运动", lifecycle.Preference, 0.5)), "there is one")

	english := reflect(trait("food:ramen", "Likes ramen", lifecycle.Behavior, 0.6),
		trait("food:dumplings", "Likes dumplings", lifecycle.Behavior, 0.6))
	require.Equal(t, "Likes noodles and other food made of flour", english[0].Content)

	core := reflect(trait("group:sport", "喜欢运动", lifecycle.Preference, 0.7),
		trait("group:outdoors", "喜欢户外活动", lifecycle.Preference, 0.65))
	require.Equal(t, "注重身体与活力", core[0].Content)
	require.Equal(t, lifecycle.CoreTrait, core[0].Subtype)
	require.Len(t, core[0].Members, 2)

	require.Equal(t, "Tim loves music", reflect(
		trait("do:piano@tim", "Tim enjoys playing the piano", lifecycle.Behavior, 0.6),
		trait("do:guitar@tim", "Tim enjoys playing the guitar", lifecycle.Behavior, 0.6),
		trait("do:drums@ann", "Ann enjoys playing the drums", lifecycle.Behavior, 0.6))[0].Content)
}
