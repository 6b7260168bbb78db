package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

// cache keeps the vectors of a model between runs. Servers share its file.
type cache struct {
	db    *sql.DB
	model string
}

func openCache(ctx context.Context, model string) (*cache, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "oxbow")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "vectors.sqlite")+
		"?_pragma=busy_timeout(60000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `create table if not exists vectors (
		model text not null, text text not null, vector blob not null, primary key (model, text)) without rowid`)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the cache of vectors in %s: %w", dir, err), db.Close())
	}
	return &cache{db, model}, nil
}

// find returns the vectors that the cache has, nil for the others.
func (c *cache) find(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	if c == nil {
		return vectors, nil
	}
	query, err := c.db.PrepareContext(ctx, `select vector from vectors where model = ? and text = ?`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = query.Close() }()
	for i, text := range texts {
		var raw []byte
		err := query.QueryRowContext(ctx, c.model, text).Scan(&raw)
		if err == nil {
			vectors[i] = decode(raw)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
	}
	return vectors, nil
}

func (c *cache) add(ctx context.Context, texts []string, vectors [][]float32) error {
	if c == nil || len(texts) == 0 {
		return nil
	}
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	for i, text := range texts {
		if _, err := tx.ExecContext(ctx, `insert or ignore into vectors values (?, ?, ?)`, c.model, text,
			encode(vectors[i])); err != nil {
			return err
		}
	}
	return tx.Commit()
}
