package reflection

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
)

const maxKey = 400 // bytes

// wording validates the wording of a trait.
func wording(content string) (string, error) {
	content = oneline.Of(content)
	switch {
	case normalized(content) == "":
		return "", errors.New("it is empty")
	case utf8.RuneCountInString(content) > reasoner.MaxWording:
		return "", fmt.Errorf("it has more than %d characters", reasoner.MaxWording)
	}
	if category, hit := sensitive.Category(content); hit {
		return "", fmt.Errorf("nothing is inferred about %s", category)
	}
	return content, nil
}

// Named returns the key and the wording of a pattern in the form in which traits are stored.
func Named(key, content string) (patterns, says string) {
	says = oneline.Of(content)
	return PatternKey(key, says), says
}

// PatternKey returns the key of a pattern, at most 400 bytes. Without a key it is derived from the
// wording.
func PatternKey(key, content string) string {
	if key = strings.ReplaceAll(strings.ToValidUTF8(key, ""), "\x00", ""); key == "" {
		key = "says " + normalized(content)
	}
	if len(key) > maxKey {
		sum := md5.Sum([]byte(key))
		key = strings.ToValidUTF8(key[:40], "") + " " + hex.EncodeToString(sum[:])
	}
	return key
}

// normalized returns a wording reduced to letters, marks and digits in lower case, for comparison.
func normalized(content string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(norm.NFKC.String(content)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}

// Reason returns a reason in the form stored with an event. It is empty if the reason is
// sensitive.
func Reason(reason string) string {
	if _, hit := sensitive.Category(reason); hit {
		return ""
	}
	return oneline.Shorten(oneline.Of(reason), reasoner.MaxWording)
}

// drop records that a proposal or a part of it is not followed. Of sensitive proposals only the
// ids are recorded.
func (p *Plan) drop(proposal any, reason string, args ...any) {
	what := told(proposal)
	if _, hit := sensitive.Category(what); hit {
		what = idsIn(what)
	}
	p.Dropped = append(p.Dropped, reasoner.Dropped{What: what, Reason: fmt.Sprintf(reason, args...)})
}

// dropUnsaid is drop, but always records only the ids.
func (p *Plan) dropUnsaid(proposal any, reason string) {
	p.Dropped = append(p.Dropped, reasoner.Dropped{What: idsIn(told(proposal)), Reason: reason})
}

func told(proposal any) string {
	what, err := json.Marshal(proposal)
	if err != nil {
		what = fmt.Appendf(nil, "%+v", proposal)
	}
	return string(what)
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}`)

func idsIn(s string) string { return strings.Join(uuids.FindAllString(s, -1), " ") }
