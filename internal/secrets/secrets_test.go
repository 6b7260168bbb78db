package secrets

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lines reads a file of testdata without its comments.
func lines(t testing.TB, name string) []string {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	var all []string
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimRight(line, "\n"); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

// marked returns the text with the secrets in ⟦ ⟧.
func marked(text string, found []Finding) string {
	for i := len(found) - 1; i >= 0; i-- {
		f := found[i]
		text = text[:f.Start] + "⟦" + text[f.Start:f.End] + "⟧" + text[f.End:]
	}
	return text
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, line := range lines(t, "secrets.txt") {
		kind, want, ok := strings.Cut(line, "\t")
		require.True(t, ok, line)
		text := strings.NewReplacer("⟦", "", "⟧", "").Replace(want)
		found := Find(text)
		if marked(text, found) != want {
			t.Errorf("%q, want %q", marked(text, found), want)
			continue
		}
		if kinds := Kinds(found); len(kinds) != 1 || string(kinds[0]) != kind {
			t.Errorf("%q: %q, want %s", text, kinds, kind)
		}
	}
}

// A secret remains one within other text.
func TestFindWithin(t *testing.T) {
	t.Parallel()
	for _, line := range lines(t, "secrets.txt") {
		_, want, _ := strings.Cut(line, "\t")
		text := strings.NewReplacer("⟦", "", "⟧", "").Replace(want)
		for _, around := range [][2]string{{"Ann said: ", ""}, {"我记得，", ""}, {"One.\n", "\nTwo."}, {"", " 就这样"}} {
			if !Any(around[0] + text + around[1]) {
				t.Errorf("%q passed", around[0]+text+around[1])
			}
		}
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for _, text := range lines(t, "harmless.txt") {
		if found := Find(text); found != nil {
			t.Errorf("%q is marked as %s", marked(text, found), found[0].Kind)
		}
	}
}

// The author of the survey had not seen the detector.
func TestSurvey(t *testing.T) {
	t.Parallel()
	var missed, marked []string
	for _, line := range lines(t, "survey-secrets.txt") {
		kind, text, _ := strings.Cut(line, "\t")
		if !slices.Contains(Kinds(Find(text)), Kind(kind)) {
			missed = append(missed, text)
		}
	}
	for _, text := range lines(t, "survey-harmless.txt") {
		if Any(text) {
			marked = append(marked, text)
		}
	}
	require.LessOrEqual(t, len(missed), 2, "missed: %q", missed)
	require.LessOrEqual(t, len(marked), 1, "marked: %q", marked)
}

func TestMask(t *testing.T) {
	t.Parallel()
	require.Equal(t, "My password is [credential], card [card].", Mask("My password is hunter2, card 4111 1111 1111 1111."))
	require.Equal(t, "我的密码是[credential]。", Mask("我的密码是ａｂｃ１２３。"))
	require.Equal(t, "nothing", Mask("nothing"))
}

// A text on which each step could look far ahead takes time in proportion to its length.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"1-", "a-", "password ", "密码", "-----BEGIN ", "://a:", "eyA.", "password for ", "\"", "４",
		"DE12 ", "\xff", "password is \"", "-----BEGIN PRIVATE KEY"} {
		text := strings.Repeat(part, 1_000_000/len(part))
		begun := time.Now()
		Find(text)
		require.Less(t, time.Since(begun), 5*time.Second, part)
	}
}

func FuzzFind(f *testing.F) {
	for _, text := range append(lines(f, "secrets.txt"), lines(f, "harmless.txt")...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, s := range Find(text) {
			if s.Start < last || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("%q: %v", text, s)
			}
			last = s.End
		}
		Mask(text)
	})
}

func BenchmarkFind(b *testing.B) {
	text := strings.Join(lines(b, "harmless.txt"), " ")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Find(text)
	}
}

// A search takes time in proportion to the text, whatever is repeated in it. A quadratic one would take minutes.
func TestSearchIsInProportion(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"y", "a ", "password is ", "password", "1", "1 ", "12-", "=", ":=", "a=", "a:", "://",
		"://a:b@", "@", "a@", "-----BEGIN ", "-----BEGIN RSA PRIVATE KEY-----", "-u ", "sk-", "ghp_", "密码", "密码是", "１", "　",
		"pin 1", "4111111111111111 ", "GB82 WEST 1234", "eyJ", "eyJ.", "a_secret=", `"`, `{"a":`, "the PIN is ", "AB12 ", "a.b.",
		"passport number ", "验证码", " is my pin ", "password=", "，", "**", "`", "key: "} {
		for _, text := range []string{strings.Repeat(piece, 1<<18/len(piece)), strings.Repeat(piece+"\n", 1<<18/len(piece)),
			"the password is " + strings.Repeat(piece, 1<<18/len(piece)) + " is my password"} {
			begun := time.Now()
			Find(text)
			require.Less(t, time.Since(begun), 20*time.Second, "%q", piece)
		}
	}
}

func TestStripURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://me:secret@host/v1?key=secret": "https://host/v1", "me:secret@host": "host",
		"http://host": "http://host", "?secret": "",
		"https://me:se@cret@host/": "https://host/",
	} {
		require.Equal(t, want, StripURL(address), address)
	}
}
