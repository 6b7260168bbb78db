package migrations

import (
	"context"
	"io/fs"
)

// RiverVersion is the pinned version.
const RiverVersion = riverVersion

// LockKey is the advisory lock of a migration.
var LockKey = lockKey

// Source is what a test installs instead of the embedded files.
type Source struct {
	Migrations, Code fs.FS
	Roles            []string
}

func (src Source) internal() source {
	return source{migrations: src.Migrations, code: src.Code, roles: src.Roles}
}

// Embedded is the real files, for roles of a test's own.
func Embedded(roles []string) Source {
	src := embedded()
	return Source{Migrations: src.migrations, Code: src.code, Roles: roles}
}

// WithSource returns options that install src.
func (o Options) WithSource(src Source) Options {
	o.source = src.internal()
	return o
}

// CheckSource is Check for other files.
func CheckSource(ctx context.Context, db DB, src Source) error { return check(ctx, db, src.internal()) }

// ReadSource is Read for other files.
func ReadSource(ctx context.Context, dsn string, src Source) (Status, error) {
	return read(ctx, dsn, src.internal())
}
