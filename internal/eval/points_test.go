package eval

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding"
)

func TestMeasurePoints(t *testing.T) {
	t.Parallel()
	memories := []Fact{
		{"ada", "s1", "I keep two bees' nests behind the shed."},
		{"ada", "s1", "Nice weather."},
		{"ada", "s2", "My boat is called Heron."},
		{"bob", "s1", "My boat is called Heron."},
	}
	points := []Fact{
		{"ada", "s1", "Ada keeps bees behind her shed, two nests."},
		{"ada", "s1", "The boat of Ada is called Heron."}, // said in another session
		{"ada", "", "The boat of Ada is called Heron."},
		{"eve", "", "Nice weather."},
	}
	local := embedding.NewLocal(0)
	found, err := MeasurePoints(t.Context(), memories, points, WordsAgree, local.Embed)
	require.NoError(t, err)
	require.Equal(t, Points{Memories: 4, Points: 4, Precision: 0.5, Recall: 0.5}, found)
	found, err = MeasurePoints(t.Context(), nil, points, WordsAgree, local.Embed)
	require.NoError(t, err)
	require.Equal(t, Points{Points: 4}, found)
	_, err = MeasurePoints(t.Context(), memories, points, 0,
		func(context.Context, []string) ([][]float32, error) { return nil, errors.New("down") })
	require.ErrorContains(t, err, "down")
}
