package lexis

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Words holds the lists of a directory of data files by name. A list begins with its name in
// brackets, has one entry a line, is sorted by code point, and has no entry twice. Lines that begin
// with # are comments; a backslash before an entry that begins with # or [ says that it is one.
//
//	[tastes.en]
//	# verbs of liking
//	adore
//	enjoy
type Words struct {
	lists map[string][]string
	used  map[string]bool
}

// Must reads the files of a directory, and panics where Read returns an error: the files are
// embedded, and a test reads them.
func Must(files fs.FS) *Words {
	w, err := Read(files)
	if err != nil {
		panic(err)
	}
	return w
}

// Read reads the files *.txt of a directory. The error names file and line of everything that is wrong.
func Read(files fs.FS) (*Words, error) {
	names, err := fs.Glob(files, "*.txt")
	if err != nil {
		return nil, err
	}
	w := &Words{lists: map[string][]string{}, used: map[string]bool{}}
	var wrong []error
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		wrong = append(wrong, w.read(name, string(text))...)
	}
	return w, errors.Join(wrong...)
}

func (w *Words) read(file, text string) (wrong []error) {
	list, last := "", ""
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) {
			wrong = append(wrong, fmt.Errorf("%s:%d: %s", file, i+1, fmt.Sprintf(format, args...)))
		}
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) != line:
			fail("%q begins or ends with a space", line)
		case line[0] == '[' && line[len(line)-1] == ']':
			if list, last = line[1:len(line)-1], ""; w.lists[list] != nil {
				fail("list %s exists already", list)
			}
			w.lists[list] = []string{}
		case list == "":
			fail("%q stands before the first list", line)
		case line == last:
			fail("%q is in list %s twice", line, list)
		case line < last:
			fail("%q comes before %q: sort list %s", line, last, list)
		default:
			w.lists[list], last = append(w.lists[list], strings.TrimPrefix(line, `\`)), line
		}
	}
	return wrong
}

// List returns the entries of a list, the longest first, so that the first prefix that matches is
// the longest. It panics where the list does not exist.
func (w *Words) List(name string) []string {
	entries, ok := w.lists[name]
	if !ok {
		panic("no list of words is named " + name)
	}
	w.used[name] = true
	return slices.SortedStableFunc(slices.Values(entries), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
}

// Set returns the entries of a list as a set.
func (w *Words) Set(name string) map[string]bool {
	set := map[string]bool{}
	for _, entry := range w.List(name) {
		set[entry] = true
	}
	return set
}

// Runes returns the characters of a list.
func (w *Words) Runes(name string) string { return strings.Join(w.List(name), "") }

// Map returns the entries of a list of the form "word = value". It panics where one has another form.
func (w *Words) Map(name string) map[string]string {
	m := map[string]string{}
	for _, entry := range w.List(name) {
		word, value, ok := strings.Cut(entry, " = ")
		if !ok {
			panic(fmt.Sprintf("list %s: %q is not of the form word = value", name, entry))
		}
		m[word] = value
	}
	return m
}

// Unused returns the names of the lists that nobody asked for.
func (w *Words) Unused() (names []string) {
	for name := range w.lists {
		if !w.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
