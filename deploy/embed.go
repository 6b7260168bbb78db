// Package deploy carries the statements that create the logins of a deployment.
package deploy

import _ "embed"

// Logins is logins.sql, which psql runs.
//
//go:embed logins.sql
var Logins string
