package eval

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ann's questions are answered best with 3, Bob's and Cy's with 2.
func TestTune(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	measure := func(s Setting) (map[string]Mean, error) {
		asked[s.String()]++
		near := func(best float64) float64 { return 1 - (s["vector"]-best)*(s["vector"]-best)/10 - s["cost"] }
		return map[string]Mean{"ann": {1, near(3)}, "bob": {1, near(2)}, "cy": {2, near(2)}}, nil
	}
	got, err := Tune(Setting{"vector": 1, "cost": 0}, []Choice{{"vector", []float64{1, 2, 3}}, {"cost", []float64{0, 0.5}}},
		measure)
	require.NoError(t, err)
	require.Equal(t, Setting{"vector": 2, "cost": 0}, got.Best)
	require.InDelta(t, (0.6+0.9+2*0.9)/4, got.Before, 1e-9)
	require.InDelta(t, (0.9+1+2)/4, got.After, 1e-9)
	require.InDelta(t, (0.9+1+2)/4, *got.LeftOut, 1e-9, "the others always choose 2")
	for setting, times := range asked {
		require.Equal(t, 1, times, setting)
	}

	got, err = Tune(Setting{"vector": 1}, []Choice{{"vector", []float64{2}}}, func(s Setting) (map[string]Mean, error) {
		return map[string]Mean{"ann": {1, s["vector"]}}, nil
	})
	require.NoError(t, err)
	require.Nil(t, got.LeftOut, "nobody else chooses")

	_, err = Tune(Setting{}, nil, func(Setting) (map[string]Mean, error) { return nil, errors.New("no database") })
	require.ErrorContains(t, err, "no database")
}

func TestScale(t *testing.T) {
	t.Parallel()
	require.Equal(t, Setting{"unrelated": 0.12, "related": 0.61}, Scale([]float64{0.9, -1, 0.123}, []float64{0.1, 0.9, 0.2, 0.61, 0.3}))
	require.Equal(t, Setting{"unrelated": 0, "related": 0.5}, Scale([]float64{-0.1}, []float64{0.5}), "a setting is not negative")
	require.Nil(t, Scale(nil, []float64{0.5}))
	require.Nil(t, Scale([]float64{0.5}, nil))
	require.Nil(t, Scale([]float64{0.5}, []float64{0.5}))
}
