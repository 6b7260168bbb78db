package movein

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store"
)

// memory is a line of the import.
type memory struct {
	ID           uuid.UUID                  `json:"id"`
	User         string                     `json:"user"`
	Type         store.MemoryType           `json:"memory_type"`
	Content      string                     `json:"content"`
	ExternalID   string                     `json:"external_id"`
	Session      string                     `json:"session,omitzero"`
	Speaker      string                     `json:"speaker,omitzero"`
	Role         string                     `json:"role,omitzero"`
	Agent        string                     `json:"agent_id,omitzero"`
	Source       string                     `json:"source"`
	At           time.Time                  `json:"at,omitzero"` // as valid_at, but says the user's time zone too
	ValidAt      time.Time                  `json:"valid_at,omitzero"`
	InvalidAt    time.Time                  `json:"invalid_at,omitzero"`
	CreatedAt    time.Time                  `json:"created_at,omitzero"`
	ExpiredAt    time.Time                  `json:"expired_at,omitzero"`
	UpdatedAt    time.Time                  `json:"updated_at,omitzero"`
	ExpiresAt    time.Time                  `json:"expires_at,omitzero"`
	SupersededBy uuid.UUID                  `json:"superseded_by,omitzero"`
	Version      int                        `json:"version,omitzero"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitzero"`
}

// draft is a memory in the making, with the members of its row that nobody has read yet. They become its metadata.
type draft struct {
	object
	memory
	run   *run
	ref   string // the id in the source
	older string // ref of the version that this one supersedes
}

func (r *run) draft(o object) *draft { return &draft{object: o, run: r} }

// time reads a time. A text that is not a time stays in the metadata.
func (d *draft) time(names ...string) time.Time {
	for _, name := range names {
		raw := d.take(name)
		if raw == nil {
			continue
		}
		at, err := parseTime(raw)
		if err == nil {
			return at
		}
		d.object[name] = raw
		d.run.report.unmapped(name+" "+err.Error()+": it is in the metadata", d.ref)
	}
	return time.Time{}
}

// setAside puts a time that the memory cannot have into its metadata.
func (d *draft) setAside(name, why, value string) {
	if d.object == nil {
		d.object = object{}
	}
	d.object[name], _ = json.Marshal(value) // encoding a string cannot fail
	d.run.report.unmapped(name+" "+why+": it is in the metadata", d.ref)
}

// drop removes members that are not imported.
func (d *draft) drop(names ...string) {
	for _, name := range names {
		if raw := d.take(name); !blank(raw) && string(raw) != "false" && string(raw) != "0" {
			d.run.report.Dropped[name]++
		}
	}
}

// blank reports whether a value says nothing.
func blank(raw json.RawMessage) bool {
	return slices.Contains([]string{"", "null", `""`, "[]", "{}"}, string(raw))
}

// keep makes the rest of the row the metadata.
func (d *draft) keep() {
	for name, raw := range d.object {
		if blank(raw) {
			continue
		}
		if d.Metadata == nil {
			d.Metadata = map[string]json.RawMessage{}
		}
		d.Metadata[name] = raw
		d.run.report.Kept[name]++
	}
	d.object = nil
}

// merge moves the members of an object into the row, except for those that it has.
func (d *draft) merge(name string) {
	raw := d.take(name)
	if raw == nil {
		return
	}
	var inner object
	if err := json.Unmarshal(raw, &inner); err != nil {
		d.object[name] = raw
		return
	}
	for name, raw := range inner {
		if _, ok := d.object[name]; !ok {
			d.object[name] = raw
		}
	}
}

// rename gives a member that stays in the metadata a name that says what it is.
func (d *draft) rename(name, as string) {
	if raw := d.take(name); raw != nil {
		d.object[as] = raw
	}
}
