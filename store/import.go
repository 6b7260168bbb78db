package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// ImportOptions configures an import. The zero value rejects traits, and the first bad line fails
// the import, so that nothing is stored.
type ImportOptions struct {
	// SkipBad skips bad lines and counts them.
	SkipBad bool
	// OnBad is called for each line that SkipBad skips.
	OnBad func(*InvalidError)
	// Type is the type of lines without a memory_type. Default: episodic.
	Type MemoryType
	// Traits accepts traits, which otherwise only reflection creates. Use it for Oxbow's own exports
	// and for old data. A trait without events gets events that lead to its state. In old data, the
	// type general is read as fact and the type insight as a trend.
	Traits bool
	// OnlyMemories rejects the other records of an export, such as history, links and messages.
	OnlyMemories bool
	// Rename maps the user of a line to the user who gets the memory. Default: no change.
	Rename func(userID string) string
	// MaxBytes is the maximum size of a file in bytes, after unpacking, for files that are not the operator's own; a
	// larger one fails with ErrImportTooLarge. Lines then have at most 16 MiB. Default: any size, and lines of at most
	// 64 MiB.
	MaxBytes int64
	// Progress is called every 1,000 lines and once at the end.
	Progress func(ImportReport)
}

// ImportReport counts what an import read and stored.
type ImportReport struct {
	Lines    int   // lines read, including blank ones
	Memories int   // lines with a memory
	New      int64 // memories that did not exist before
	Records  int   // lines with other records of an export: history, links, messages and so on
	Ignored  int   // questions of an evaluation set, which are not stored
	Bad      int   // lines that SkipBad skipped
}

// ErrImportTooLarge reports that a file has more than ImportOptions.MaxBytes.
var ErrImportTooLarge = jsonl.ErrTooLarge

// FileError reports a file that cannot be imported at all, whatever its lines contain.
type FileError = jsonl.Error

// longestLine is the longest line, in bytes, of an import with MaxBytes.
const longestLine = 16 << 20

// progressEvery is the number of lines between two calls of ImportOptions.Progress.
const progressEvery = 1000

// Import reads JSON Lines, plain or compressed with gzip, into the database. It copies them into a
// temporary table first, because COPY supports neither row-level security nor conflict handling. Between
// two batches r may use tx. An
// error in a line is an *InvalidError with its Line. On any error the caller must roll back tx. sealer may be nil; it
// seals memories with a secret.
func Import(ctx context.Context, tx pgx.Tx, r io.Reader, o ImportOptions, sealer Sealer) (ImportReport, error) {
	var tables []string
	var err error
	if !o.OnlyMemories {
		if tables, err = recordTables(ctx, tx); err != nil {
			return ImportReport{}, err
		}
	}
	// A trigger rejects traits from applications, except with this origin.
	if _, err := tx.Exec(ctx, `select set_config('oxbow.origin', 'import', true)`); err != nil {
		return ImportReport{}, Explain(err)
	}
	columns := append([]string{"n"}, copyColumns...)
	of := strings.Join(copyColumns[:len(copyColumns)-2], ", ")
	// the domain memory_type rejects the nulls of records
	of = strings.Replace(of, "memory_type", "memory_type::text", 1)
	of = strings.Replace(of, "mentions", "to_jsonb(mentions) as mentions", 1)
	_, err = tx.Exec(ctx, `create temporary table oxbow_import on commit drop as
		select 0::bigint as n, `+of+`, ''::text as record_table, null::jsonb as record
		  from oxbow.memories with no data`)
	if err != nil {
		return ImportReport{}, Explain(err)
	}
	limits := jsonl.Limits{Bytes: o.MaxBytes}
	if o.MaxBytes > 0 {
		limits.Line = longestLine
	}
	in, err := jsonl.NewLimited(r, limits)
	if err != nil {
		return ImportReport{}, err
	}
	policy, err := SecretsPolicy(ctx, tx)
	if err != nil {
		return ImportReport{}, err
	}
	src := &importSource{ctx: ctx, lines: in, options: o, tables: tables, policy: policy, sealer: sealer}
	for src.fill() {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"oxbow_import"}, columns, pgx.CopyFromRows(src.rows)); err != nil {
			return src.report, Explain(err)
		}
	}
	if src.err != nil {
		return src.report, src.err
	}
	report := src.report
	if report.New, err = insertImported(ctx, tx); err != nil {
		return report, err
	}
	for _, table := range tables {
		if !slices.Contains(src.recorded, table) {
			continue
		}
		if err := insertRecords(ctx, tx, table); err != nil {
			return report, err
		}
	}
	if src.traits {
		if err := adoptTraits(ctx, tx); err != nil {
			return report, err
		}
	}
	if err := src.zones.insert(ctx, tx); err != nil {
		return report, err
	}
	_, err = tx.Exec(ctx, `drop table oxbow_import; select set_config('oxbow.origin', '', true)`)
	if o.Progress != nil {
		o.Progress(report)
	}
	return report, Explain(err)
}

// insertImported inserts the memories from the temporary table, in the order of the file.
func insertImported(ctx context.Context, tx pgx.Tx) (int64, error) {
	defaults := map[string]string{
		"seq":        "coalesce(seq, (extract(epoch from statement_timestamp()) * 1000000)::bigint + n)",
		"created_at": "coalesce(created_at, now())",
		// An open erasure deletes what older transactions stored.
		"stored_at": `case when exists (select from oxbow.open_erasures e where e.user_id = oxbow_import.user_id)
			then now() else coalesce(stored_at, now()) end`,
		"importance":    "coalesce(importance, 0.5)",
		"metadata":      "coalesce(metadata, '{}')",
		"version":       "coalesce(version, 1)",
		"strength":      "coalesce(strength, 1)",
		"mention_count": "coalesce(mention_count, 1)",
		"mentions":      "(select array_agg(m) from jsonb_populate_recordset(null::oxbow.mention, mentions) m)",
		"tier":          "coalesce(tier, 'normal')",
		"reviews":       "coalesce(reviews, 0)",
		"access_count":  "coalesce(access_count, 0)",
		"sensitivity":   "coalesce(sensitivity, 0)",
		"modality":      "coalesce(modality, 'text')",
		"level":         "coalesce(level, 'full')",
	}
	columns := copyColumns[:len(copyColumns)-2]
	values := make([]string, len(columns))
	for i, c := range columns {
		if values[i] = defaults[c]; values[i] == "" {
			values[i] = c
		}
	}
	tag, err := tx.Exec(ctx, fmt.Sprintf(
		`insert into oxbow.memories (%s) select %s from oxbow_import
		 where record is null order by n on conflict do nothing`,
		strings.Join(columns, ", "), strings.Join(values, ", ")))
	return tag.RowsAffected(), Explain(err)
}

// adoptTraits adds events to imported traits without any. It runs after the records, which may
// contain events.
func adoptTraits(ctx context.Context, tx pgx.Tx) error {
	_, err := Exec(ctx, tx, `select oxbow.adopt_trait(i.user_id, i.id, 'import') from oxbow_import i
		where i.record is null and i.memory_type = 'trait' order by i.user_id, i.id`)
	return err
}

// importSource converts lines to rows for COPY.
type importSource struct {
	ctx     context.Context
	lines   *jsonl.Reader
	options ImportOptions
	tables  []string // tables that records may belong to
	policy  string   // of secrets
	sealer  Sealer   // nil: memories with a secret are not sealed

	rows     [][]any  // the current batch
	recorded []string // tables with at least one record
	traits   bool     // whether the file contains traits
	zones    zones
	report   ImportReport
	err      error
}

const (
	importBatch = 1 << 20 // bytes of the lines of a batch
	importRow   = 512     // bytes that a row takes besides its line
)

// fill reads the next batch, and reports whether it has rows. A bad line ends the import.
func (s *importSource) fill() bool {
	s.rows = nil
	for size := 0; size < importBatch && s.ctx.Err() == nil && s.lines.Next(); {
		s.report.Lines = s.lines.Number
		if s.options.Progress != nil && s.report.Lines%progressEvery == 0 {
			s.options.Progress(s.report)
		}
		row, err := s.read(s.lines.Line)
		if bad, ok := errors.AsType[*InvalidError](err); ok {
			bad.Line = s.lines.Number
			if s.options.SkipBad {
				s.report.Bad++
				if s.options.OnBad != nil {
					s.options.OnBad(bad)
				}
				continue
			}
		}
		if err != nil {
			s.err = err
			return false
		}
		if row != nil {
			s.rows = append(s.rows, row)
			size += len(s.lines.Line) + importRow
		}
	}
	s.err = errors.Join(s.ctx.Err(), s.lines.Err)
	return s.err == nil && len(s.rows) > 0
}

// read returns the row of a line, or nil if it has none.
func (s *importSource) read(line []byte) ([]any, error) {
	if len(line) == 0 {
		return nil, nil
	}
	if err := jsonl.Check(line); err != nil {
		return nil, Invalid("", nil, err.Error())
	}
	f, err := parseFields(line)
	if err != nil {
		return nil, err
	}
	kind := f.string("type")
	switch {
	case f.err != nil:
		return nil, f.err
	case kind == "" || kind == "memory":
		m, err := s.memory(f)
		if err != nil {
			return nil, err
		}
		s.report.Memories++
		return append([]any{int64(s.lines.Number)}, m...), nil
	case kind == "question" || kind == "point": // of oxbow eval
		s.report.Ignored++
		return nil, nil
	case slices.Contains(s.tables, kind):
		if err := s.refuseSecrets(f); err != nil {
			return nil, err
		}
		record, err := f.record(s.options.Rename)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(s.recorded, kind) {
			s.recorded = append(s.recorded, kind)
		}
		s.report.Records++
		row := make([]any, len(copyColumns)+1)
		row[0], row[len(row)-2], row[len(row)-1] = int64(s.lines.Number), kind, record
		return row, nil
	}
	if s.options.OnlyMemories {
		return nil, Invalid("type", kind, "must be memory: only memories can be imported here")
	}
	return nil, Invalid("type", kind, "must be memory, question, point, or a table of an export")
}

// copyColumns lists the columns after n. The last two are for records.
var copyColumns = []string{
	"user_id", "memory_type", "id", "content", "valid_at", "invalid_at", "created_at", "expired_at", "updated_at",
	"stored_at", "forgotten_at", "forgotten_by", "superseded_by", "version", "session_id", "seq", "speaker", "agent_id",
	"external_id", "source",
	"category", "importance", "strength", "mention_count", "activated_at", "used_at", "negated_at", "mentions", "tier",
	"topic", "verified", "review_at", "reviews", "access_count", "last_accessed_at", "metadata",
	"trait_subtype", "trait_stage", "trait_confidence", "trait_confidence_at", "trait_context", "trait_parent_id",
	"trait_reinforcement_count", "trait_contradiction_count", "trait_last_reinforced", "trait_first_observed",
	"trait_window_start", "trait_window_end", "trait_derived_from", "trait_next_transition_at", "trait_key",
	"trait_contexts",
	"trait_review_due_at", "trait_edited_at", "expires_at", "sensitivity", "sealed", "sealed_key", "former_ends",
	"modality", "reference",
	"level", "weight_next_at",
	"record_table", "record",
}

// memory parses the line of a memory. It accepts the names user, session, at and role of
// conversation files; every other name is a column. An id that is a UUID becomes the memory's id,
// any other id its external_id.
func (s *importSource) memory(f *fields) ([]any, error) {
	m := NewMemory{
		UserID: f.either("user", "user_id"), Content: f.string("content"), Type: MemoryType(f.string("memory_type")),
		SessionID: f.either("session", "session_id"), Speaker: f.string("speaker"), AgentID: f.string("agent_id"),
		ExternalID: f.string("external_id"), Source: f.string("source"), Category: Category(f.string("category")),
		Topic: f.string("topic"), Verified: f.boolean("verified"),
		ValidAt: f.time("valid_at"), InvalidAt: f.time("invalid_at"),
		ExpiresAt: f.time("expires_at"), Seq: f.integer("seq"), Importance: f.number("importance"), Metadata: f.metadata(),
		Modality: Modality(f.string("modality")), Reference: f.string("reference"),
	}
	at := f.time("at")
	if m.ValidAt.IsZero() {
		m.ValidAt = at
	}
	if m.Type == "" {
		m.Type = cmp.Or(s.options.Type, Episodic)
	}
	name := f.string("id")
	if id, err := uuid.Parse(name); err == nil {
		m.ID = id
	} else if m.ExternalID == "" {
		m.ExternalID = name
	}
	if f.err == nil && s.options.Rename != nil {
		m.UserID = s.options.Rename(m.UserID)
	}
	rest := []any{ // in the order of copyColumns
		null(f.time("created_at")), null(f.time("expired_at")), null(f.time("updated_at")),
		null(f.time("stored_at")), null(f.time("forgotten_at")), null(f.string("forgotten_by")),
		null(f.uuid("superseded_by")), f.integer("version"),
	}
	counters := []any{f.number("strength"), f.integer("mention_count"), null(f.time("activated_at")),
		null(f.time("used_at")), null(f.time("negated_at")), f.mentions(), null(f.string("tier")),
		null(m.Topic), m.Verified, null(f.time("review_at")), f.integer("reviews"),
		f.integer("access_count"), null(f.time("last_accessed_at"))}
	stage := f.string("trait_stage")
	if s.options.Traits { // types in old data
		switch m.Type {
		case "general":
			m.Type = Fact
		case "insight":
			m.Type, stage = Trait, cmp.Or(stage, "trend")
		}
	}
	trait := []any{
		null(f.string("trait_subtype")), null(stage), f.number("trait_confidence"),
		null(f.time("trait_confidence_at")), null(f.string("trait_context")), null(f.uuid("trait_parent_id")),
		f.integer("trait_reinforcement_count"), f.integer("trait_contradiction_count"),
		null(f.time("trait_last_reinforced")),
		null(f.time("trait_first_observed")), null(f.time("trait_window_start")), null(f.time("trait_window_end")),
		null(f.string("trait_derived_from")), null(f.time("trait_next_transition_at")), null(f.string("trait_key")),
		jsonOrNull(f.object("trait_contexts")), null(f.time("trait_review_due_at")), null(f.time("trait_edited_at")),
		null(m.ExpiresAt), f.integer("sensitivity"), f.bytes("sealed"), null(f.string("sealed_key")),
		f.times("former_ends"), null(string(m.Modality)), null(m.Reference), null(f.string("level")),
		null(f.time("weight_next_at")),
	}
	if err := f.done(); err != nil {
		return nil, err
	}
	largest := maxMetadata
	if s.options.Traits { // an export may have what SQL accepted
		largest = 0
	}
	metadata, err := m.validateUpTo(largest)
	if err != nil {
		return nil, err
	}
	if m.Source != "summary" {
		if err := expiry(m.ExpiresAt, cmp.Or(f.time("created_at"), time.Now())); err != nil {
			return nil, err
		}
	}
	if m.Type == Trait && !s.options.Traits {
		return nil, Invalid("memory_type", "trait",
			"must be fact, episodic or document, unless the import admits traits")
	}
	if m.Type == Trait {
		if err := validateTrait(f, stage); err != nil {
			return nil, err
		}
		s.traits = true
	}
	if m.ID == uuid.Nil {
		if m.ID, err = uuid.NewV7(); err != nil {
			return nil, err
		}
	}
	if err := s.refuseSecrets(f); err != nil {
		return nil, err
	}
	sealed, err := s.seal(f, &m)
	if err != nil {
		return nil, err
	}
	s.zones.add(m.UserID, at)
	row := []any{m.UserID, string(m.Type), m.ID, m.Content, null(m.ValidAt), null(m.InvalidAt)}
	row = append(row, rest...)
	row = append(row, null(m.SessionID), m.Seq, null(m.Speaker), null(m.AgentID), null(m.ExternalID), null(m.Source),
		null(string(m.Category)), m.Importance)
	row = append(row, counters...)
	row = append(row, jsonOrNull(metadata))
	row = append(row, trait...)
	if sealed != nil {
		at := slices.Index(copyColumns, "sensitivity")
		copy(row[at:], []any{int64(Secret), sealed, s.sealer.ID()}) // with sealed and sealed_key
	}
	return append(row, nil, nil), nil
}

// searched lists the members of a line that are searched for secrets, besides metadata.
var searched = []string{"content", "old_content", "new_content", "speaker", "category", "topic", "reference", "reason"}

// refuseSecrets returns an *InvalidError if a text of a line contains a secret and the setting "secrets" refuses them.
func (s *importSource) refuseSecrets(f *fields) error {
	if level := f.integer("sensitivity"); s.policy != secretsRefused || level != nil && *level == Secret {
		return nil
	}
	texts := []Field{Metadata(f.raw["metadata"])}
	for _, name := range searched {
		var text string
		if raw, ok := f.raw[name]; ok && json.Unmarshal(raw, &text) == nil {
			texts = append(texts, Field{name, text})
		}
	}
	for _, text := range texts {
		if secrets.Any(text.Value) {
			return refusedSecret(text)
		}
	}
	return nil
}

// seal seals a memory that contains a secret, and returns its sealed text, or nil if the memory is stored as it is.
func (s *importSource) seal(f *fields, m *NewMemory) (sealed []byte, err error) {
	level := f.integer("sensitivity")
	if s.sealer == nil || s.policy == secretsStored || m.Type == Trait || level != nil && *level > 1 ||
		!m.sealable() || !secrets.Any(m.Content) {
		return nil, nil
	}
	if sealed, err = s.sealer.Seal(m.Content, sealedPlace(m.UserID, m.Type, m.ID)); err != nil {
		return nil, fmt.Errorf("seal a text: %w", err)
	}
	m.Content = sealedContent
	return sealed, nil
}

// The values that the constraints of memories_trait accept, and "" for a missing value.
var (
	traitStages   = []string{"", "trend", "candidate", "emerging", "established", "core", "dissolved"}
	traitSubtypes = []string{"", "behavior", "preference", "core"}
)

// validateTrait validates the trait fields of a line.
func validateTrait(f *fields, stage string) error {
	if !slices.Contains(traitStages, stage) {
		return Invalid("trait_stage", stage, "must be trend, candidate, emerging, established, core or dissolved")
	}
	if subtype := f.string("trait_subtype"); !slices.Contains(traitSubtypes, subtype) {
		return Invalid("trait_subtype", subtype, "must be behavior, preference or core")
	}
	if c := f.number("trait_confidence"); c != nil && !(*c >= 0 && *c <= 1) {
		return Invalid("trait_confidence", *c, "must be between 0 and 1")
	}
	return nil
}

// null returns v, or nil for the zero value.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func jsonOrNull(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return raw
}
