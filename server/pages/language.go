package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// words are the texts of the pages in a language.
type words struct {
	Lang  string // of HTML
	Name  string // in the language itself
	tag   language.Tag
	texts map[string]string
}

const languageCookie = "oxbow-language"

// readWords returns all languages. The first is the default.
func readWords() []*words {
	found := []*words{{Lang: "en", Name: "English", tag: language.English}, {Lang: "zh", Name: "中文", tag: language.Chinese}}
	for _, w := range found {
		for _, part := range []string{"", "operator_"} {
			text, err := files.ReadFile("messages_" + part + w.Lang + ".json")
			if err == nil {
				err = json.Unmarshal(text, &w.texts) // adds to the texts of the other file
			}
			if err != nil {
				panic(err) // the files are embedded
			}
		}
	}
	return found
}

// wordsOf returns the texts in the language that the visitor chose, or that the browser prefers.
func (s *Site) wordsOf(r *http.Request) *words {
	if cookie, err := r.Cookie(languageCookie); err == nil {
		for _, w := range s.languages {
			if w.Lang == cookie.Value {
				return w
			}
		}
	}
	var tags []language.Tag
	for _, w := range s.languages {
		tags = append(tags, w.tag)
	}
	_, i := language.MatchStrings(language.NewMatcher(tags), r.Header.Get("Accept-Language"))
	return s.languages[i]
}

func (s *Site) setLanguage(v *visit) error {
	if err := v.parse(); err != nil {
		return err
	}
	http.SetCookie(v.w, &http.Cookie{Name: languageCookie, Value: v.value("language"), Path: "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.secure(v.Request)})
	return v.redirect(local(v.value("next")), "")
}

// T returns a text with its arguments. A key without a text is its own, which a test notices.
func (w *words) T(key string, args ...any) string {
	text, ok := w.texts[key]
	if !ok {
		return key
	}
	if len(args) > 0 {
		return fmt.Sprintf(text, args...)
	}
	return text
}

// N returns a text with a number. The text has forms for one and for more, separated by |, where the language needs them.
func (w *words) N(key string, n int) string {
	one, more, two := strings.Cut(w.T(key), "|")
	if two && n != 1 {
		one = more
	}
	return fmt.Sprintf(one, n)
}

// Word returns the text kind_value, or the value itself if there is none: a value that an application chose.
func (w *words) Word(kind, value string) string {
	if text, ok := w.texts[kind+"_"+value]; ok {
		return text
	}
	return value
}
