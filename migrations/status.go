package migrations

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"github.com/oxbow-memory/oxbow/internal/connect"
)

// Status is the result of Read.
type Status struct {
	Database string `json:"database"`
	// Problem is the text of the error that Check returns, or "" if the database is at this
	// binary's version.
	Problem    string      `json:"problem,omitempty"`
	Ours       Version     `json:"oxbow"`
	River      Version     `json:"river"`
	Migrations []Migration `json:"migrations"` // River's first, each line in order; empty for ErrUnreleased
	// CodeCurrent reports whether functions, triggers and views are this binary's; otherwise
	// ChangedCode names the files.
	CodeCurrent bool     `json:"code_current"`
	ChangedCode []string `json:"changed_code,omitempty"`
	// Extensions holds the versions of the required extensions that are installed. VectorSchema is
	// the schema of vector.
	Extensions   map[string]string `json:"extensions"`
	VectorSchema string            `json:"vector_schema"`
	// MissingRoles holds the group roles that do not exist in the cluster.
	MissingRoles []string `json:"missing_roles,omitempty"`
}

// Migration is one step that the binary knows.
type Migration struct {
	Line    string `json:"line"` // "oxbow" or "river"
	Version int32  `json:"version"`
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// Check returns nil if the database is what this binary needs, or else an error that wraps
// ErrNotMigrated, ErrBehind, ErrAhead, ErrUnreleased or ErrNoExtension and says what to do. It runs
// two short queries and needs no more rights than oxbow_app has.
func Check(ctx context.Context, db DB) error {
	return check(ctx, db, embedded())
}

func check(ctx context.Context, db DB, src source) error {
	st, err := readState(ctx, db, src)
	if err != nil {
		return err
	}
	files, err := src.codeFiles()
	if err != nil {
		return err
	}
	return st.check(files)
}

// Read reports the state of the database that dsn names. It changes nothing and does not wait for a
// running migration. A database that was never migrated is not an error.
func Read(ctx context.Context, dsn string) (Status, error) {
	return read(ctx, dsn, embedded())
}

func read(ctx context.Context, dsn string, src source) (Status, error) {
	cfg, err := connect.One(dsn, applicationName)
	if err != nil {
		return Status{}, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return Status{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	st, err := readState(ctx, conn, src)
	if err != nil {
		return Status{}, err
	}
	return st.status(src)
}

func (st state) status(src source) (Status, error) {
	files, err := src.codeFiles()
	if err != nil {
		return Status{}, err
	}
	changed, gone := st.changedCode(files)
	status := Status{
		Database: st.database, Ours: st.ours, River: st.river,
		ChangedCode: append(changed, gone...), CodeCurrent: len(changed)+len(gone) == 0,
		Extensions: st.extensions, VectorSchema: st.vectorSchema,
	}
	if err := st.check(files); err != nil {
		status.Problem = err.Error()
	}
	for _, role := range src.roles {
		if !slices.Contains(st.roles, role) {
			status.MissingRoles = append(status.MissingRoles, role)
		}
	}
	if st.unreleased {
		return status, nil
	}
	river, err := newRiver()
	if err != nil {
		return Status{}, err
	}
	for _, m := range river.AllVersions() {
		if m.Version <= riverVersion {
			version := int32(m.Version)
			status.Migrations = append(status.Migrations, Migration{"river", version, m.Name,
				version <= st.river.Current})
		}
	}
	names, err := migrate.FindMigrations(src.migrations)
	if err != nil {
		return Status{}, err
	}
	for i, name := range names {
		version := int32(i + 1)
		status.Migrations = append(status.Migrations, Migration{"oxbow", version, name, version <= st.ours.Current})
	}
	return status, nil
}
