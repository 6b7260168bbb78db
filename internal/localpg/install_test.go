package localpg

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeInstallation creates a directory that imitates a PostgreSQL installation. An empty vector
// means no extension.
func fakeInstallation(t *testing.T, version, vector string) string {
	t.Helper()
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	extension := filepath.Join(root, "share", "extension")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.MkdirAll(extension, 0o755))
	script := func(name, prints string) {
		text := fmt.Sprintf("#!/bin/sh\necho %q\n", prints)
		// A process that another test starts now would inherit the open file, which then cannot run: "text file busy".
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755))
	}
	script("postgres", "postgres (PostgreSQL) "+version)
	script("initdb", "")
	script("pg_config", filepath.Join(root, "share"))
	if vector != "" {
		control := fmt.Sprintf("comment = 'vector'\ndefault_version = '%s'\n", vector)
		require.NoError(t, os.WriteFile(filepath.Join(extension, "vector.control"), []byte(control), 0o644))
	}
	return bin
}

func TestChoose(t *testing.T) {
	t.Parallel()
	bare17 := fakeInstallation(t, "17.2 (Debian 17.2-1)", "")
	old16 := fakeInstallation(t, "16.1", "0.7.4")
	good15 := fakeInstallation(t, "15.10", "0.8.0")
	good14 := fakeInstallation(t, "14.1", "0.8.0")
	beta := fakeInstallation(t, "18beta1", "1.0.0")
	all := inspect([]string{bare17, old16, "/nowhere", good15, good14, beta, good15})
	require.Len(t, all, 5, "each once, and only what is there")

	in, err := choose(all, 0)
	require.NoError(t, err)
	require.Equal(t, installation{bin: good15, major: 15, vector: "0.8.0"}, in)
	in, err = choose(all, 18)
	require.NoError(t, err)
	require.Equal(t, beta, in.bin)

	_, err = choose(all, 17)
	require.ErrorContains(t, err, "the data directory requires PostgreSQL 17")
	require.ErrorContains(t, err, "PostgreSQL 17 in "+bare17+" (without pgvector)")
	_, err = choose(inspect([]string{bare17}), 0)
	require.ErrorContains(t, err, "postgresql@17 pgvector")
	_, err = choose(inspect([]string{old16}), 0)
	require.ErrorContains(t, err, "pgvector 0.7.4")
	_, err = choose(nil, 0)
	require.ErrorContains(t, err, "no PostgreSQL server is installed")
	require.ErrorContains(t, err, "DATABASE_URL")
}

// An existing cluster wins over a newer PostgreSQL. A cluster whose programs are gone is ignored.
func TestPickDefault(t *testing.T) {
	t.Parallel()
	all := inspect([]string{fakeInstallation(t, "17.2", "0.8.0"), fakeInstallation(t, "15.10", "0.8.0")})
	base := t.TempDir()
	pick := func() string {
		dir, _, err := pickDefault(base, all, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		return filepath.Base(dir)
	}
	made := func(version string) {
		data := filepath.Join(base, "pg-"+version, "data")
		require.NoError(t, os.MkdirAll(data, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte(version+"\n"), 0o600))
	}
	require.Equal(t, "pg-17", pick())
	made("15")
	require.Equal(t, "pg-15", pick())
	made("16")
	require.Equal(t, "pg-15", pick())
	made("17")
	require.Equal(t, "pg-17", pick())
}

func TestDamagedVersionFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("what?\n"), 0o600))
	_, err := majorOfData(data)
	require.ErrorContains(t, err, `"what?\n", not a version`)
}
