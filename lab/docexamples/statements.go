package main

import (
	"fmt"
	"regexp"
	"strings"
)

// Tokens that may contain a semicolon: strings, quoted names, comments, dollar quotes. Go's regular expressions have no
// back-references, so a dollar quote's end is looked for by hand.
var hiding = regexp.MustCompile(`(?s)^(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\$\w*\$)`)

// statements splits SQL as psql does, and drops the comments around and between statements. Nothing may follow the last
// semicolon.
func statements(sql string) ([]string, error) {
	var found []string
	var now strings.Builder
	for rest := sql; rest != ""; {
		token := hiding.FindString(rest)
		switch {
		case token == "" && rest[0] == ';':
			if text := strings.TrimSpace(now.String()); text != "" {
				found = append(found, text)
			}
			now.Reset()
			rest = rest[1:]
			continue
		case token == "":
			token = rest[:1]
		case token[0] == '$':
			_, _, closed := strings.Cut(rest[len(token):], token)
			if !closed {
				return nil, fmt.Errorf("%s is not closed", token)
			}
			token = rest[:2*len(token)+strings.Index(rest[len(token):], token)]
		}
		rest = rest[len(token):]
		if strings.HasPrefix(token, "--") || strings.HasPrefix(token, "/*") {
			token = " "
		}
		now.WriteString(token)
	}
	if text := strings.TrimSpace(now.String()); text != "" {
		return nil, fmt.Errorf("no semicolon after %q", text)
	}
	return found, nil
}

// isQuery reports whether a statement may return memories stored before it.
func isQuery(statement string) bool {
	switch strings.ToLower(strings.Fields(statement)[0]) {
	case "select", "with", "table":
		return true
	}
	return false
}
