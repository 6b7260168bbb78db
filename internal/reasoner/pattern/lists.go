package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Lists holds the lists of some data files by name. The package comment describes the files.
type Lists struct {
	byName map[string]*list
}

// list is a list as its file has it.
type list struct {
	name     string
	template string // around each entry, with % in its place; empty: none
	value    string // of the entries that have none of their own
	place    string // file and line
	entries  []entry
}

type entry struct {
	text, value string
	place       string
}

// MustReadLists reads files that are embedded in the program, and panics on an error.
func MustReadLists(files fs.FS) *Lists {
	l, err := ReadLists(files)
	if err != nil {
		panic(err)
	}
	return l
}

// ReadLists reads the files *.txt of a directory. The error names file and line of each mistake.
func ReadLists(files fs.FS) (*Lists, error) {
	names, err := fs.Glob(files, "*.txt")
	if err != nil {
		return nil, err
	}
	l := &Lists{byName: map[string]*list{}}
	var mistakes []error
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		mistakes = append(mistakes, l.read(name, string(text))...)
	}
	return l, errors.Join(mistakes...)
}

func (l *Lists) read(file, text string) (mistakes []error) {
	var current *list
	last := ""
	for i, line := range strings.Split(text, "\n") {
		place := fmt.Sprintf("%s:%d", file, i+1)
		fail := func(format string, args ...any) {
			mistakes = append(mistakes, fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...)))
		}
		switch {
		case line == "", line[0] == '#' && (len(line) == 1 || line[1] == ' '):
		case strings.TrimSpace(line) != line:
			fail("%q begins or ends with a space", line)
		case line[0] == '[':
			name, rest, ok := strings.Cut(line[1:], "]")
			if !ok || name == "" {
				fail("%q is not the name of a list", line)
			} else if l.byName[name] != nil {
				fail("list %s exists already", name)
			}
			current, last = &list{name: name, place: place}, ""
			current.template, current.value = cutValue(strings.TrimSpace(rest))
			l.byName[name] = current
		case current == nil:
			fail("%q stands before the first list", line)
		case line == last:
			fail("%q is in list %s twice", line, current.name)
		case line < last:
			fail("%q comes before %q: sort list %s", line, last, current.name)
		default:
			e := entry{place: place}
			e.text, e.value = cutValue(line)
			e.text = strings.TrimPrefix(e.text, `\`)
			current.entries, last = append(current.entries, e), line
		}
	}
	return mistakes
}

// cutValue cuts "entry = value".
func cutValue(line string) (text, value string) {
	if value, ok := strings.CutPrefix(line, "= "); ok {
		return "", value
	}
	text, value, _ = strings.Cut(line, " = ")
	return text, value
}

// List returns the entries of a list, the longest first. It panics if the list does not exist.
func (l *Lists) List(name string) []string {
	found := l.get(name)
	all := make([]string, len(found.entries))
	for i, e := range found.entries {
		all[i] = e.text
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

// Value returns the value of a list, which stands beside its name.
func (l *Lists) Value(name string) string { return l.get(name).value }

// Map returns the values of a list by entry.
func (l *Lists) Map(name string) map[string]string {
	found := l.get(name)
	m := make(map[string]string, len(found.entries))
	for _, e := range found.entries {
		m[e.text] = cmp.Or(e.value, found.value)
	}
	return m
}

func (l *Lists) get(name string) *list {
	found := l.byName[name]
	if found == nil {
		panic("no list is named " + name)
	}
	return found
}

// Names returns the names of the lists, sorted.
func (l *Lists) Names() []string {
	all := make([]string, 0, len(l.byName))
	for name := range l.byName {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
