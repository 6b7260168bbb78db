package migrations

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// need is an extension that the schema requires.
type need struct {
	name    string
	minimum string // lowest version; "" for any
	install string // how to install it on the server
}

// needs lists the required extensions: vector 0.8, the first with iterative index scans, and
// btree_gin, for GIN indexes that begin with a plain column. btree_gin ships with PostgreSQL and
// the database's owner may create it; vector needs a superuser.
var needs = []need{
	{"vector", "0.8", "install pgvector 0.8 or newer on the server (Debian: package postgresql-NN-pgvector)"},
	{"btree_gin", "", "install PostgreSQL's contrib modules on the server"},
}

// ensureExtensions creates the missing extensions in the first schema of the role's search path and
// records the schema of vector.
func (s *session) ensureExtensions(ctx context.Context) error {
	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	for _, n := range needs {
		if _, ok := st.extensions[n.name]; ok {
			continue
		}
		if err := s.createExtension(ctx, n); err != nil {
			return err
		}
	}
	if st, err = s.state(ctx); err != nil {
		return err
	}
	s.vectorSchema = st.vectorSchema
	if err := st.checkExtensions(); err != nil {
		return err
	}
	var usable bool
	err = s.conn.QueryRow(ctx, `select has_schema_privilege($1, 'usage')`, s.vectorSchema).Scan(&usable)
	if err == nil && !usable {
		return fmt.Errorf("%w: role %q may not use the schema of vector: as its owner, run in database %q: "+
			"grant usage on schema %s to %s", ErrNoExtension, s.role, s.name, quoteIfNeeded(s.vectorSchema),
			pgx.Identifier{s.role}.Sanitize())
	}
	return err
}

func (s *session) createExtension(ctx context.Context, n need) error {
	run := fmt.Sprintf("as a superuser, run in database %q: create extension %s", s.name, n.name)
	var available string
	err := s.conn.QueryRow(ctx,
		`select default_version from pg_available_extensions where name = $1`, n.name).Scan(&available)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%w: %s is not installed on the server: %s, then %s", ErrNoExtension, n.name, n.install, run)
	case err != nil:
		return err
	case !atLeast(available, n.minimum):
		return fmt.Errorf("%w: the server has %s %s, but Oxbow requires %s or newer: %s, then %s",
			ErrNoExtension, n.name, available, n.minimum, n.install, run)
	}
	err = s.retry(ctx, "create extension "+n.name, func(ctx context.Context) error {
		_, err := s.conn.Exec(ctx, `create extension if not exists `+pgx.Identifier{n.name}.Sanitize())
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: role %[3]q cannot create %[2]s: %[4]s (%[5]w)", ErrNoExtension, n.name, s.role, run, err)
	}
	s.log.InfoContext(ctx, "created the extension", "name", n.name, "version", available)
	return nil
}

// checkExtensions returns an error for an extension that is missing or too old.
func (st state) checkExtensions() error {
	for _, n := range needs {
		version, ok := st.extensions[n.name]
		switch {
		case !ok:
			return fmt.Errorf("%w: as a superuser, run in database %q: create extension %s", ErrNoExtension,
				st.database, n.name)
		case !atLeast(version, n.minimum):
			return fmt.Errorf("%w: database %q has %s %s, but Oxbow requires %s or newer: %s, then as its owner, run: "+
				"alter extension %s update", ErrNoExtension, st.database, n.name, version, n.minimum, n.install, n.name)
		}
	}
	return nil
}

// atLeast compares dotted versions. A part that is not a number counts as 0.
func atLeast(version, minimum string) bool {
	if minimum == "" {
		return true
	}
	have, want := strings.Split(version, "."), strings.Split(minimum, ".")
	for i := range want {
		w, _ := strconv.Atoi(want[i])
		h := 0
		if i < len(have) {
			h, _ = strconv.Atoi(have[i])
		}
		if h != w {
			return h > w
		}
	}
	return true
}
