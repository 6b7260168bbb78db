package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// repository is a git repository, of which single files of one commit are read.
type repository struct{ dir, commit string }

// clone copies the repository without its files: git fetches each one when it is read.
func (r *repository) clone(ctx context.Context, dir, url string) {
	cmd := exec.CommandContext(ctx, "git", "clone", "--quiet", "--bare", "--filter=blob:none", url, dir)
	if output, err := cmd.CombinedOutput(); err != nil {
		must.OK(fmt.Errorf("cannot clone %s (-from names a local clone): %w: %s", url, err, bytes.TrimSpace(output)))
	}
	r.dir = dir
}

// file returns the content of a file.
func (r *repository) file(path string) []byte {
	var stderr bytes.Buffer
	cmd := exec.Command("git", "-C", r.dir, "show", r.commit+":"+path)
	cmd.Stderr = &stderr
	content, err := cmd.Output()
	if err != nil {
		must.OK(fmt.Errorf("cannot read %s of %s: %w: %s", path, r.dir, err, bytes.TrimSpace(stderr.Bytes())))
	}
	return content
}

// read decodes a JSON file.
func read[T any](r *repository, path string) (value T) {
	if err := json.Unmarshal(r.file(path), &value); err != nil {
		must.OK(fmt.Errorf("%s: %w", path, err))
	}
	return value
}

// readLines decodes a file of one JSON value per line.
func readLines[T any](r *repository, path string) (values []T) {
	for decoder := json.NewDecoder(bytes.NewReader(r.file(path))); decoder.More(); {
		var value T
		if err := decoder.Decode(&value); err != nil {
			must.OK(fmt.Errorf("%s: %w", path, err))
		}
		values = append(values, value)
	}
	return values
}
