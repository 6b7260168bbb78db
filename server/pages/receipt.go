package pages

import (
	"encoding/base64"
	"encoding/json"
	"html/template"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

// receipt is what the page of a receipt shows.
type receipt struct {
	oxbow.Receipt
	User   string       `json:"user"` // which the database does not keep
	Memory uuid.UUID    `json:"memory,omitzero"`
	File   template.URL `json:"-"`
}

// Count returns the number of erased rows.
func (r receipt) Count() int { return int(r.Rows()) }

// showReceipt answers with the receipt of an erasure. It is shown once, since its proof is not stored; the page holds the
// file too, so that nothing has to ask for it again.
func (v *visit) showReceipt(of oxbow.Receipt, user string, memory uuid.UUID) error {
	r := receipt{Receipt: of, User: user, Memory: memory}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	r.File = template.URL("data:application/json;base64," + base64.StdEncoding.EncodeToString(text))
	return v.render("receipt", r)
}
