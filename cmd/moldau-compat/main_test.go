package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestWrongQuestions(t *testing.T) {
	for name, args := range map[string][]string{
		"no broker":       {},
		"no such area":    {"--bootstrap", "127.0.0.1:1", "--area", "astrology"},
		"no such case":    {"--bootstrap", "127.0.0.1:1", "--case", "produce.not-there"},
		"no such format":  {"--bootstrap", "127.0.0.1:1", "--format", "rtf"},
		"no release":      {"--bootstrap", "127.0.0.1:1", "--release", "new"},
		"no such flag":    {"--boot"},
		"nobody listens":  {"--bootstrap", "127.0.0.1:1"},
		"nothing to fuzz": {"fuzz", "--bootstrap", "127.0.0.1:1"},
		"nobody to fuzz":  {"fuzz", "--bootstrap", "127.0.0.1:1", "--against", "127.0.0.1:1"},
		"a word too much": {"127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(t.Context(), args, &out, &errs); code != 2 || !strings.HasPrefix(errs.String(), "moldau-compat: ") {
				t.Errorf("exit code %d, %q", code, errs.String())
			}
		})
	}
}

func TestList(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"--list", "--case", "produce.idempotent"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), "produce.idempotent.duplicate-within-5\n    Any of a producer's") || strings.Contains(out.String(), "fetch.") {
		t.Errorf("listed:\n%s", out.String())
	}
}
