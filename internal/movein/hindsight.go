package movein

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
)

// What is not imported from Hindsight.
const (
	mentalModel = "mental model: reflection makes traits anew"
	document    = "document: import its text with oxbow ingest"
)

// hindsight reads the tables of Hindsight, or the archive that its export of a bank or of documents makes.
func (r *run) hindsight(ctx context.Context) error {
	if r.Conn == nil {
		return r.hindsightArchive()
	}
	required := []string{"id", "bank_id", "text", "fact_type", "occurred_start", "mentioned_at", "created_at"}
	t, err := r.table(ctx, "memory_units", required...)
	if err != nil {
		return err
	}
	err = r.rows(ctx, "select "+t.list("t")+" from "+t.name+" t order by t.created_at, t.id", r.hindsightUnit)
	if err != nil {
		return err
	}
	// Facts that were retired by hand are in a table of their own, from version 0.8 on.
	retired, err := r.table(ctx, "invalidated_memory_units", append(required, "invalidated_at")...)
	if err == nil {
		err = r.rows(ctx, "select "+retired.list("t")+" from "+retired.name+" t order by t.created_at, t.id", r.hindsightUnit)
		if err != nil {
			return err
		}
	}
	for _, table := range []struct{ name, what string }{
		{"mental_models", mentalModel},
		{"documents", document},
	} {
		if _, err := r.table(ctx, table.name); err != nil {
			continue // of another version
		}
		err := r.rows(ctx, "select id::text from "+table.name+" order by 1", func(o object) error {
			r.report.skip(table.what, o.text("id"))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hindsightUnit emits a memory unit.
func (r *run) hindsightUnit(o object) error {
	if !o.has("text") || !o.has("fact_type") {
		r.foreign(o, "text and fact_type")
		return nil
	}
	d := r.draft(o)
	d.ref = d.text("id", "source_id")
	d.Content = d.text("text")
	bank := d.text("bank_id")
	if prefix, ok := strings.CutPrefix(r.UserFrom, "tag:"); !ok {
		d.User = bank
	} else {
		d.User = d.tagged(prefix)
		d.object["bank_id"] = quoted(bank)
	}
	d.Session = d.text("document_id")
	if kind := d.text("fact_type"); kind == "experience" {
		d.Type = "episodic"
	} else {
		d.Type = "fact"
		if kind != "world" { // an observation, or an opinion of an old version
			d.object["fact_type"] = quoted(kind)
		}
	}
	if d.ValidAt = d.time("occurred_start"); d.ValidAt.IsZero() {
		d.ValidAt = d.time("mentioned_at")
	}
	d.CreatedAt = d.time("created_at")
	d.ExpiredAt = d.time("invalidated_at")
	d.drop("event_date", "updated_at", "consolidated_at", "consolidation_failed_at", "chunk_id", "chunk_index",
		"text_signals", "access_count", "causal_relations", "entity_ids", "source_memory_ids", "sources",
		"observation_scopes", "proof_count", "confidence_score", "causal_links", "attachment_ids", "edited_at",
		"entity_names")
	d.merge("metadata")
	return r.emit(d)
}

// tagged returns the rest of the only tag with the prefix.
func (d *draft) tagged(prefix string) string {
	var tags, users []string
	if json.Unmarshal(d.object["tags"], &tags) != nil {
		return ""
	}
	for _, tag := range tags {
		if user, ok := strings.CutPrefix(tag, prefix); ok {
			users = append(users, user)
		}
	}
	if len(users) != 1 {
		return ""
	}
	return users[0]
}

// hindsightArchive reads a ZIP file: manifest.json, a file for each document, and files of other rows.
func (r *run) hindsightArchive() error {
	if r.Path == "" {
		return errors.New("the archive of Hindsight must be a file, not standard input")
	}
	archive, err := zip.OpenReader(r.Path)
	if err != nil {
		return fmt.Errorf("this is not an archive of Hindsight: %w", err)
	}
	defer archive.Close() //nolint:errcheck // it is only read
	var manifest struct {
		Version int    `json:"schema_version"`
		Bank    string `json:"source_bank_id"`
	}
	if err := unpack(archive, "manifest.json", &manifest); err != nil {
		return fmt.Errorf("this is not an archive of Hindsight: %w", err)
	}
	if manifest.Version != 1 {
		return fmt.Errorf("the archive has version %d of Hindsight's format, but only 1 is known", manifest.Version)
	}
	for _, file := range archive.File {
		switch {
		case strings.HasPrefix(file.Name, "documents/") && strings.HasSuffix(file.Name, ".json"):
			var source object
			if err := unpack(archive, file.Name, &source); err != nil {
				return err
			}
			id := source.text("id")
			for i, fact := range source.list("facts") {
				fact["bank_id"], fact["document_id"] = quoted(manifest.Bank), quoted(id)
				if !fact.has("source_id") {
					fact["id"] = quoted(id + "/" + strconv.Itoa(i))
				}
				if err := r.hindsightUnit(fact); err != nil {
					return err
				}
			}
			r.report.skip(document, id)
		case file.Name == "observations.json" || file.Name == "data/invalidated_memory_units.json":
			var units []object
			if err := unpack(archive, file.Name, &units); err != nil {
				return err
			}
			for _, o := range units {
				o["bank_id"] = quoted(manifest.Bank)
				if !o.has("fact_type") {
					o["fact_type"] = quoted("observation")
				}
				if err := r.hindsightUnit(o); err != nil {
					return err
				}
			}
		case file.Name == "mental_models.json":
			var models []object
			if err := unpack(archive, file.Name, &models); err != nil {
				return err
			}
			for _, o := range models {
				r.report.skip(mentalModel, o.text("id"))
			}
		}
	}
	return nil
}

// unpack decodes a file of an archive.
func unpack(archive fs.FS, name string, into any) error {
	info, err := fs.Stat(archive, name)
	if err != nil {
		return err
	}
	if header, ok := info.Sys().(*zip.FileHeader); ok {
		if err := jsonl.CheckRatio(int64(header.CompressedSize64), int64(header.UncompressedSize64)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	raw, err := fs.ReadFile(archive, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
