package llm

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// maxStatement is the maximum length of a memory, in characters.
const maxStatement = 1000

// short cuts a text that a note quotes.
func short(text string) string { return oneline.Shorten(text, 40) }

// references matches what a model may refer by.
var references = regexp.MustCompile(`^([A-Za-z]?[0-9]{1,6}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$`)

// quote returns a reference for a reason, which is logged. A model may write a message instead of its reference, and no
// text of a user may be logged.
func quote(ref string) string {
	if !references.MatchString(ref) {
		ref = "…"
	}
	return `"` + ref + `"`
}

// remark turns a model's comment into one line.
func remark(text string) string { return oneline.Shorten(oneline.Of(text), reasoner.MaxWording) }

// folded normalises a text for comparison: NFKC, lower case, single spaces, no closing punctuation.
func folded(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(text))), " ")
	return strings.TrimRight(text, " .!?。")
}
