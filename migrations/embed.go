package migrations

import "embed"

// FS holds the numbered migrations, in tern's format: what to do, a line "---- create above / drop below ----", and
// how to undo it. tern reads `{{` as the start of a Go template.
//
//go:embed *.sql
var FS embed.FS
