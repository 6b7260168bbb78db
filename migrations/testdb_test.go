package migrations_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// emptyDatabase returns the connection string of a database of the test's own.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	admin := os.Getenv("OXBOW_TEST_DATABASE_URL")
	if admin == "" {
		t.Fatal("set OXBOW_TEST_DATABASE_URL")
	}
	name := fmt.Sprintf("mig_%d_%d", os.Getpid(), serial.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "create database "+name)
	require.NoError(t, err)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), admin)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), "drop database "+name+" with (force)")
		require.NoError(t, err)
	})
	return strings.Replace(admin, "@/postgres", "@/"+name, 1)
}

func dropRoles(t *testing.T, dsn string, roles ...string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, role := range roles {
		name := pgx.Identifier{role}.Sanitize()
		var exists bool
		require.NoError(t, conn.QueryRow(context.Background(), "select exists (select from pg_roles where rolname = $1)", role).Scan(&exists))
		if exists {
			_, err := conn.Exec(context.Background(), "drop owned by "+name+" cascade; drop role "+name)
			require.NoError(t, err)
		}
	}
}
