// Package privacy adds the noise of differential privacy to counts. It samples exactly, with integers alone: floating
// point noise would reveal the count in its low bits (Mironov, "On Significance of the Least Significant Bits for
// Differential Privacy", CCS 2012).
package privacy

import (
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"math/big"
)

// Source is a source of noise. Its zero value reads the system's randomness.
type Source struct {
	Random io.Reader // for tests; nil: crypto/rand
}

// Scale is the scale of discrete Laplace noise as a fraction: Numerator / Denominator.
type Scale struct{ Numerator, Denominator int64 }

// ScaleOf returns the scale that makes a release of counts ε-differentially private if one person changes their sum by
// at most sensitivity: sensitivity / ε (the Laplace mechanism: Dwork and Roth, "The Algorithmic Foundations of
// Differential Privacy", 2014, theorem 3.6; for whole numbers the geometric mechanism: Ghosh, Roughgarden and
// Sundararajan, "Universally Utility-Maximizing Privacy Mechanisms", STOC 2009). ε is rounded down to a millionth, so
// that never more is spent than said.
func ScaleOf(epsilon float64, sensitivity int) (Scale, error) {
	millionths := math.Floor(epsilon * 1e6)
	if !(millionths >= 1 && millionths <= 1e9) || sensitivity < 1 || sensitivity > 1e9 {
		return Scale{}, fmt.Errorf("noise for ε = %g and sensitivity %d is not defined", epsilon, sensitivity)
	}
	return Scale{int64(sensitivity) * 1e6, int64(millionths)}, nil
}

// Laplace returns a whole number x with a probability proportional to exp(-|x| / scale): algorithm 2 of Canonne, Kamath
// and Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020.
func (s Source) Laplace(scale Scale) (int64, error) {
	t, d := scale.Numerator, scale.Denominator
	for {
		u, err := s.below(t)
		if err != nil {
			return 0, err
		}
		if ok, err := s.exp(u, t); err != nil {
			return 0, err
		} else if !ok {
			continue
		}
		var v int64
		for {
			more, err := s.exp(1, 1)
			if err != nil {
				return 0, err
			}
			if !more {
				break
			}
			v++
		}
		negative, err := s.below(2)
		if err != nil {
			return 0, err
		}
		y := (u + t*v) / d
		switch {
		case negative == 0:
			return y, nil
		case y != 0: // zero has one sign only
			return -y, nil
		}
	}
}

// exp returns true with probability exp(-a/b), 0 ≤ a ≤ b: algorithm 1 of the same paper.
func (s Source) exp(a, b int64) (bool, error) {
	for k := int64(1); ; k++ {
		// with probability a / (b·k)
		x, err := s.below(b)
		if err != nil {
			return false, err
		}
		y, err := s.below(k)
		if err != nil {
			return false, err
		}
		if x >= a || y > 0 {
			return k%2 == 1, nil
		}
	}
}

// below returns a uniform number from 0 to n - 1.
func (s Source) below(n int64) (int64, error) {
	random := s.Random
	if random == nil {
		random = rand.Reader
	}
	x, err := rand.Int(random, big.NewInt(n))
	if err != nil {
		return 0, fmt.Errorf("read randomness: %w", err)
	}
	return x.Int64(), nil
}

// Margin returns how much a noisy count must exceed a threshold, so that with a probability of at least 1 - β none of n
// counts that are below the threshold appears to reach it. The tail of discrete Laplace noise is
// P(x ≥ m) = α^m / (1 + α), α = exp(-1/scale), and the n tails add up to at most β.
func Margin(scale Scale, n int, beta float64) int64 {
	size := float64(scale.Numerator) / float64(scale.Denominator)
	alpha := math.Exp(-1 / size)
	return max(int64(math.Ceil(size*math.Log(float64(max(n, 1))/(beta*(1+alpha))))), 0)
}
