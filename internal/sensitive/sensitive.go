// Package sensitive tells which texts speak about what must never be inferred of a person: health,
// politics, religion, sexuality, ethnicity (DESIGN §5, C §8.2), in English and Chinese. It knows
// words, not people: it errs on the side of calling a text sensitive, since a lost trait is cheaper
// than one that should not exist. What it means by health is diagnoses, symptoms, medication,
// therapy, disability, pregnancy and addiction; sports, food, tiredness and moods are not.
//
// It has limits: a text in another language, a paraphrase that uses none of the words it knows, and a fact from which
// only a reader would draw the conclusion pass.
package sensitive

// The categories.
const (
	Health    = "health"
	Politics  = "politics"
	Religion  = "religion"
	Sexuality = "sexuality"
	Ethnicity = "ethnicity"
)

// Category returns the category of the first sensitive expression in text. Letters of other widths
// and scripts that look like Latin ones, invisible characters, letters set apart by spaces, and
// traditional characters do not hide an expression. A text that is sensitive stays so when a
// sentence is appended to it. It is safe for concurrent use.
func Category(text string) (category string, ok bool) {
	rs := plain(text)
	words := split(rs)
	if category, ok := english().find(words); ok {
		return category, true
	}
	whole, letters := spelt(words)
	if category, ok := english().find(whole); ok {
		return category, true
	}
	for _, run := range letters {
		if category, ok := english().inside(run); ok {
			return category, true
		}
	}
	return chinese().find(characters(rs))
}
