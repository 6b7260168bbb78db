//go:build !onnx

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenSaysHowToBuild(t *testing.T) {
	t.Parallel()
	_, err := Open(Config{Folder: t.TempDir()})
	require.ErrorContains(t, err, "built without ONNX Runtime: use \"make build-onnx\"")
}
