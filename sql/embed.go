// Package sqlcode carries the text of Oxbow's functions, triggers and views.
//
// The files are code, not history: each has one current text, and `oxbow migrate up` installs it again whenever it
// differs from what the database has. Files run in the order of their names.
package sqlcode

import "embed"

// FS holds code/*.sql.
//
//go:embed code/*.sql
var FS embed.FS

// Schema is schema.sql: the types, tables and indexes of a migrated database.
//
//go:embed schema.sql
var Schema string
