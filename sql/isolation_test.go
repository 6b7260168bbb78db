package sqlcode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// asApp makes the transaction that of a new login of the group oxbow_app, and returns its name. The role goes with the
// transaction.
func asApp(t *testing.T, tx db) string { return asMember(t, tx, "oxbow_app") }

func asMember(t *testing.T, tx db, group string) string {
	t.Helper()
	exec(t, tx, "reset role")
	role := fmt.Sprintf("oxbow_sql_test_%x", rand.Uint64())
	exec(t, tx, fmt.Sprintf("create role %s login in role %s", role, group))
	exec(t, tx, "set local role "+role)
	return role
}
