// Docpicture generates the life of a trait for docs/traits.md: the picture
// docs/life-of-a-trait.svg, and the tables between the page's markers. All numbers come from
// package lifecycle.
//
//	go -C lab run ./docpicture [-check]
//
// -check writes nothing, and fails if a file is out of date.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	check := flag.Bool("check", false, "write nothing, fail if a file is out of date")
	docs := flag.String("docs", "../docs", "the directory of the documents")
	flag.Parse()
	stale, err := update(*docs, !*check)
	for _, file := range stale {
		if *check {
			err = fmt.Errorf("out of date: run go -C lab run ./docpicture")
			fmt.Fprintln(os.Stderr, file)
		} else {
			fmt.Println(file)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docpicture:", err)
		os.Exit(1)
	}
}

// update returns the files that are out of date, and writes them if it may.
func update(docs string, write bool) (stale []string, err error) {
	page := filepath.Join(docs, "traits.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	filled, err := fill(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", page, err)
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{page, filled}, {filepath.Join(docs, "life-of-a-trait.svg"), []byte(picture(tell(story)))}} {
		old, err := os.ReadFile(f.name)
		if err == nil && bytes.Equal(old, f.content) {
			continue
		}
		if err != nil && !os.IsNotExist(err) {
			return stale, err
		}
		stale = append(stale, f.name)
		if write {
			if err := os.WriteFile(f.name, f.content, 0o644); err != nil {
				return stale, err
			}
		}
	}
	return stale, nil
}

var marked = regexp.MustCompile(`(?s)(<!-- docpicture: (\w+) -->\n).*?(<!-- end -->)`)

// fill puts the tables between their markers. The page must contain each once.
func fill(page []byte) ([]byte, error) {
	found := map[string]int{}
	page = marked.ReplaceAllFunc(page, func(old []byte) []byte {
		m := marked.FindSubmatch(old)
		name := string(m[2])
		found[name]++
		if table, there := tables[name]; there {
			return fmt.Appendf(nil, "%s\n%s\n%s", m[1], table(), m[3])
		}
		return old
	})
	for name := range tables {
		if found[name] != 1 {
			return nil, fmt.Errorf("table %q: found its markers %d times instead of once", name, found[name])
		}
	}
	if len(found) != len(tables) {
		return nil, fmt.Errorf("markers without a table: %v", found)
	}
	return page, nil
}
