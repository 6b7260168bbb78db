package migrations

import "embed"

// FS holds the numbered migrations in tern's format: the statements to apply, a line "---- create
// above / drop below ----", and the statements to undo them. tern reads `{{` as the start of a Go
// template.
//
//go:embed *.sql
var FS embed.FS
