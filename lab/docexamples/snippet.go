package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A snippet is one fenced block of a Markdown file.
type snippet struct {
	file string
	line int // of the opening fence, counted from 1
	lang string
	text string
	// The comment before the fence.
	notRun         string // "not run: REASON"
	as             string // "as: oxbow_app": the group of the login that runs it; the owner's otherwise
	interruptAfter string // "interrupt after: TEXT": it runs until it is interrupted, once TEXT is in its output
}

func (s snippet) place() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// The languages that are run, and those that are only shown.
var (
	runLanguages  = []string{"sh", "sql", "python", "js", "go"}
	showLanguages = []string{"", "text", "json"}
)

var (
	fence     = regexp.MustCompile("^ {0,3}(```+|~~~+)[ \t]*([^`]*)$")
	directive = regexp.MustCompile(`^<!--\s*([a-z ]+?):\s*(.*?)\s*-->$`)
)

// snippets returns the fenced blocks of a Markdown text, in order. A comment on its own line before a fence specifies
// how to run the block; an unknown comment is an error, so that a spelling mistake does not disable a block.
func snippets(file, markdown string) ([]snippet, error) {
	var found []snippet
	var open *snippet // the block that the current line is in
	var mark string   // its fence
	var before string // the last line with something on it
	for i, line := range strings.Split(markdown, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open == nil && m != nil:
			open, mark = &snippet{file: file, line: i + 1, lang: strings.TrimSpace(m[2])}, m[1]
			if err := open.directed(before); err != nil {
				return nil, err
			}
		case open == nil:
			if strings.TrimSpace(line) != "" {
				before = strings.TrimSpace(line)
			}
		case m != nil && m[2] == "" && strings.HasPrefix(m[1], mark):
			found = append(found, *open)
			open, before = nil, ""
		default:
			open.text += line + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the fence is not closed", open.place())
	}
	return found, nil
}

// directed applies the comment, if any, on the line before the fence.
func (s *snippet) directed(before string) error {
	if !strings.HasPrefix(before, "<!--") {
		return s.check()
	}
	m := directive.FindStringSubmatch(before)
	if m == nil || m[2] == "" {
		return fmt.Errorf("%s: the comment %q is none of <!-- not run: REASON -->, <!-- as: oxbow_app --> and "+
			"<!-- interrupt after: TEXT -->", s.place(), before)
	}
	switch m[1] {
	case "not run":
		s.notRun = m[2]
	case "as":
		s.as = m[2]
	case "interrupt after":
		s.interruptAfter = m[2]
	default:
		return fmt.Errorf("%s: the comment %q has the unknown word %q", s.place(), before, m[1])
	}
	return s.check()
}

func (s *snippet) check() error {
	switch {
	case !slices.Contains(runLanguages, s.lang) && !slices.Contains(showLanguages, s.lang):
		return fmt.Errorf("%s: the language %q is none of %s (run) and %s (shown)", s.place(), s.lang,
			strings.Join(runLanguages, ", "), strings.Join(showLanguages[1:], ", "))
	case s.as != "" && (s.as != "oxbow_app" || s.lang != "sql"):
		return fmt.Errorf("%s: only sql is run as another role, and only as oxbow_app", s.place())
	case s.interruptAfter != "" && s.lang != "sh":
		return fmt.Errorf("%s: only sh is interrupted", s.place())
	}
	return nil
}

// shown reports whether the block is not code, such as a picture.
func (s *snippet) shown() bool { return slices.Contains(showLanguages, s.lang) && !s.startsMCP() }

// startsMCP reports whether it is a client's configuration with a command that speaks MCP.
func (s *snippet) startsMCP() bool {
	return s.lang == "json" && strings.Contains(s.text, `"mcpServers"`) && strings.Contains(s.text, `"command"`)
}
