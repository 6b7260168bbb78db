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

// checksum identifies what the file makes: its text, and what it was run with. Functions keep the
// search path they were made with, and rights are granted to the roles there are and cover River's
// functions, so the same text is installed again when the extension was moved, a role was added, or
// River was upgraded.
func (f codeFile) checksum(env string) string {
	sum := sha256.Sum256([]byte(env + "\n" + f.text))
	return hex.EncodeToString(sum[:])
}

// codeFiles reads the files in the order in which they are installed.
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

// codeEnv is the part of a checksum that the database decides.
func (st state) codeEnv() string {
	return fmt.Sprintf("vector in %s; roles %s; River %d", st.vectorSchema, strings.Join(st.roles, ", "), st.river.Current)
}

// changedCode names the files whose text the database does not have, and the installed ones that
// are no more. Where a group role has no rights, all have to be installed again: they grant them,
// and take from everybody what a restore that knew no such role, or left privileges out, has given.
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

// installCode runs the files of sql/code that the database does not have in this text, in the order of their names and
// in one transaction, so that nobody meets a mixture. The others are left alone, because making a trigger again locks
// its table. A file that is gone is forgotten; what it made is dropped by a migration.
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
		return nil
	}
	err = s.step(ctx, "install functions, triggers and views", func(ctx context.Context, tx pgx.Tx) error {
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
		if err := revokePublic(ctx, tx); err != nil {
			return err
		}
		return grantVersions(ctx, tx, st.roles)
	})
	if err != nil {
		return err
	}
	s.log.InfoContext(ctx, "installed functions, triggers and views", "files", strings.Join(changed, ", "))
	return nil
}
