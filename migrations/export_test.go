package migrations

import (
	"context"
	"io/fs"
)

// RiverVersion is the pinned version of River's migrations.
const RiverVersion = riverVersion

// LockKey is the key of the advisory lock that a migration holds.
var LockKey = lockKey

// Source holds the files that a test installs instead of the embedded ones.
type Source struct {
	Migrations, Code fs.FS
	Roles            []string
}

func (src Source) internal() source {
	return source{migrations: src.Migrations, code: src.Code, roles: src.Roles}
}

// Embedded returns the embedded files with the test's own roles.
func Embedded(roles []string) Source {
	src := embedded()
	return Source{Migrations: src.migrations, Code: src.code, Roles: roles}
}

// WithSource returns options that install src.
func (o Options) WithSource(src Source) Options {
	o.source = src.internal()
	return o
}

// CheckSource is Check with src in place of the embedded files.
func CheckSource(ctx context.Context, db DB, src Source) error { return check(ctx, db, src.internal()) }

// ReadSource is Read with src in place of the embedded files.
func ReadSource(ctx context.Context, dsn string, src Source) (Status, error) {
	return read(ctx, dsn, src.internal())
}
