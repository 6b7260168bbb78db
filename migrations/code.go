package migrations

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// codeFile is one file of sql/code.
type codeFile struct {
	name string
	text string
}

// checksum identifies what a file installs: its text and the environment in which it ran. Functions
// keep the search path in force at their creation, and the grants depend on the existing roles and
// on River's functions. The same text is therefore installed again after the extension moves, a
// role is added, or River is upgraded.
func (f codeFile) checksum(env string) string {
	sum := sha256.Sum256([]byte(env + "\n" + f.text))
	return hex.EncodeToString(sum[:])
}

// codeFiles reads the files in installation order.
func (src source) codeFiles() ([]codeFile, error) {
	names, err := fs.Glob(src.code, "*.sql") // sorted
	if err != nil {
		return nil, err
	}
	files := make([]codeFile, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(src.code, name)
		if err != nil {
			return nil, err
		}
		files[i] = codeFile{name: name, text: string(text)}
	}
	return files, nil
}

// codeEnv is the part of a checksum that depends on the database.
func (st state) codeEnv() string {
	return fmt.Sprintf("vector in %s; roles %s; River %d", st.vectorSchema, strings.Join(st.roles, ", "),
		st.river.Current)
}

// changedCode returns the files whose current text is not installed, and the installed files that
// no longer exist. If a group role lacks its rights, all files count as changed: they grant the
// rights, and they revoke from PUBLIC what a restore without the role or without privileges granted
// by default.
func (st state) changedCode(files []codeFile) (changed, gone []string) {
	known := map[string]bool{}
	for _, f := range files {
		known[f.name] = true
		if len(st.bare) > 0 || st.code[f.name] != f.checksum(st.codeEnv()) {
			changed = append(changed, f.name)
		}
	}
	for name := range st.code {
		if !known[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return changed, gone
}

// installCode runs the changed files of sql/code in name order, in one transaction, so that no
// session sees a mixture of versions. Unchanged files are skipped because recreating a trigger
// locks its table. A file that no longer exists is removed from installed_code; a migration drops
// the objects it created. Rights that an earlier version granted are revoked first.
func (s *session) installCode(ctx context.Context) error {
	files, err := s.opts.source.codeFiles()
	if err != nil {
		return err
	}
	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	changed, gone := st.changedCode(files)
	if len(changed) == 0 && len(gone) == 0 {
		return s.step(ctx, "restore missing rights", func(ctx context.Context, tx pgx.Tx) error {
			return grantRights(ctx, tx, st.roles, files)
		})
	}
	err = s.step(ctx, "install functions, triggers and views", func(ctx context.Context, tx pgx.Tx) error {
		if err := revokeRights(ctx, tx, append([]string{"public"}, st.roles...)); err != nil {
			return err
		}
		for _, f := range files {
			if !slices.Contains(changed, f.name) {
				continue
			}
			if _, err := tx.Exec(ctx, f.text); err != nil {
				return inFile(err, "sql/code/"+f.name, f.text)
			}
			_, err := tx.Exec(ctx, `
				insert into oxbow.installed_code (name, checksum) values ($1, $2)
				on conflict (name) do update set checksum = excluded.checksum, installed_at = now()`,
				f.name, f.checksum(st.codeEnv()))
			if err != nil {
				return fmt.Errorf("sql/code/%s: %w", f.name, err)
			}
		}
		if _, err := tx.Exec(ctx, `delete from oxbow.installed_code where name = any($1)`, gone); err != nil {
			return err
		}
		if err := revokeRights(ctx, tx, []string{"public"}); err != nil { // what creating granted
			return err
		}
		return grantRights(ctx, tx, st.roles, files)
	})
	if len(st.code) > 0 && isOfDefinition(err) {
		return fmt.Errorf("%w: tables or functions of database %q are those of a version between releases: %s (%w)",
			ErrUnreleased, st.database, moveOut, err)
	}
	if err != nil {
		return err
	}
	s.log.InfoContext(ctx, "installed functions, triggers and views", "files", strings.Join(changed, ", "))
	return nil
}
