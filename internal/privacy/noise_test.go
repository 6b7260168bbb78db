package privacy

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// seeded returns a source that always gives the same noise.
func seeded(seed byte) Source {
	return Source{Random: rand.NewChaCha8([32]byte{seed})}
}

// The noise has the distribution (1 - α) / (1 + α) · α^|x|: Pearson's chi-square over 21 classes stays below the
// 99.9 % quantile of 20 degrees of freedom.
func TestLaplaceDistribution(t *testing.T) {
	t.Parallel()
	for nth, scale := range []Scale{{3, 1}, {1, 2}, {7_000_000, 1_234_567}} {
		const n, reach, quantile = 40_000, 9, 45.31
		counts := map[int64]int{}
		for s, i := seeded(byte(nth)), 0; i < n; i++ {
			x, err := s.Laplace(scale)
			require.NoError(t, err)
			counts[min(max(x, -reach-1), reach+1)]++
		}
		alpha := math.Exp(-float64(scale.Denominator) / float64(scale.Numerator))
		var chi float64
		for x := int64(-reach - 1); x <= reach+1; x++ {
			p := (1 - alpha) / (1 + alpha) * math.Pow(alpha, math.Abs(float64(x)))
			if x == -reach-1 || x == reach+1 {
				p = math.Pow(alpha, reach+1) / (1 + alpha) // the tail
			}
			if expected := p * n; expected >= 5 {
				chi += math.Pow(float64(counts[x])-expected, 2) / expected
			}
		}
		require.Less(t, chi, quantile, "%v", scale)
	}
}

// One person more or less changes the probability of no result by more than a factor of exp(ε).
func TestLaplaceHidesOnePerson(t *testing.T) {
	t.Parallel()
	const n, epsilon = 60_000, 0.7
	scale, err := ScaleOf(epsilon, 1)
	require.NoError(t, err)
	with, without := map[int64]float64{}, map[int64]float64{}
	a, b := seeded(1), seeded(2)
	for range n {
		x, err := a.Laplace(scale)
		require.NoError(t, err)
		y, err := b.Laplace(scale)
		require.NoError(t, err)
		with[21+x]++
		without[20+y]++
	}
	for x := int64(14); x <= 27; x++ {
		require.Greater(t, with[x], 100.0)
		sampling := 4 * math.Sqrt(1/with[x]+1/without[x]) // standard errors of the log of the ratio
		require.Less(t, math.Abs(math.Log(with[x]/without[x])), epsilon+sampling, "%d", x)
	}
}

// A count below the threshold appears to reach it in at most the stated share of releases.
func TestMargin(t *testing.T) {
	t.Parallel()
	scale, err := ScaleOf(1, 4)
	require.NoError(t, err)
	const cells, releases, beta, threshold = 50, 1000, 0.05, 20
	margin := Margin(scale, cells, beta)
	crossed := 0
	for s, r := seeded(3), 0; r < releases; r++ {
		for range cells {
			x, err := s.Laplace(scale)
			require.NoError(t, err)
			if threshold-1+x >= threshold+margin {
				crossed++
				break
			}
		}
	}
	require.Less(t, float64(crossed)/releases, beta+0.02)
	require.Positive(t, crossed, "the margin is not far too large")
}

func TestBadNoise(t *testing.T) {
	t.Parallel()
	for _, epsilon := range []float64{0, -1, 1e-7, math.NaN(), math.Inf(1)} {
		_, err := ScaleOf(epsilon, 1)
		require.Error(t, err, "%g", epsilon)
	}
	_, err := ScaleOf(1, 0)
	require.Error(t, err)
	_, err = Source{Random: bytes.NewReader(nil)}.Laplace(Scale{1, 1})
	require.ErrorContains(t, err, "randomness")
	x, err := Source{}.Laplace(Scale{1, 1000})
	require.NoError(t, err)
	require.Zero(t, x)
}
