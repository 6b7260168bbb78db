package rules

import (
	"math"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Memories that mean nearly the same as one that names a pattern speak for it too, though they do not name it. How near
// that is depends on the model: so near that by the vectors of the batch hardly two memories are by chance.
const (
	leastCosine = 0.75
	deviations  = 4.0
)

// kin returns for memories that name no activity or taste the memory of the batch that says nearly
// the same and does; -1 for none. open are the memories that may have one, named those that may be
// it.
func kin(memories []reasoner.Memory, open, named []int) map[int]int {
	found := map[int]int{}
	best, at := make([]float64, len(open)), make([]int, len(open))
	var n, sum, squares float64
	for i, o := range open {
		best[i], at[i] = -1, -1
		v := memories[o].Vector
		for _, j := range named {
			c, ok := cosine(v, memories[j].Vector)
			if !ok {
				continue
			}
			n, sum, squares = n+1, sum+c, squares+c*c
			if c > best[i] {
				best[i], at[i] = c, j
			}
		}
	}
	if n == 0 {
		return found
	}
	mean := sum / n
	enough := max(leastCosine, mean+deviations*math.Sqrt(max(0, squares/n-mean*mean)))
	for i, o := range open {
		if at[i] >= 0 && best[i] >= enough {
			found[o] = at[i]
		}
	}
	return found
}

// cosine of two vectors of one model; not ok if they are not comparable.
func cosine(a, b []float32) (float64, bool) {
	if len(a) == 0 || len(a) != len(b) {
		return 0, false
	}
	var dot, na, nb float32
	for i, x := range a {
		y := b[i]
		dot += x * y
		na += x * x
		nb += y * y
	}
	c := float64(dot) / math.Sqrt(float64(na)*float64(nb))
	return c, !math.IsNaN(c)
}
