package kafkatools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testEnv is a tool's world, and what the tool prints on standard error.
func testEnv(stdin string) (*Env, *bytes.Buffer) {
	errs := &bytes.Buffer{}
	return &Env{In: strings.NewReader(stdin), Out: io.Discard, Err: errs}, errs
}

// kafka-server-start serves on the file and the overrides, and has Kafka's
// directory where neither names one.
func TestServerStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte("node.id=3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args   []string
		served error
		want   map[string]string
		code   int
	}{
		"a file":               {args: []string{file}, want: map[string]string{"log.dir": "/tmp/kafka-logs"}},
		"overrides":            {args: []string{file, "--override", "log.dirs=/data", "--override=a=b=c"}, want: map[string]string{"log.dirs": "/data", "a": "b=c"}},
		"the broker's refusal": {args: []string{file}, served: errors.New("no"), want: map[string]string{"log.dir": "/tmp/kafka-logs"}, code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			e, errs := testEnv("")
			var got map[string]string
			e.Serve = func(_ context.Context, f string, overrides map[string]string) error {
				if f != file {
					t.Errorf("served on %s, want %s", f, file)
				}
				got = overrides
				return tc.served
			}
			if code := Run(t.Context(), e, "kafka-server-start", tc.args); code != tc.code {
				t.Errorf("exit code %d, want %d: %s", code, tc.code, errs)
			}
			if !maps.Equal(got, tc.want) {
				t.Errorf("overrides %v, want %v", got, tc.want)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"P1D": 24 * time.Hour, "PT1H30M": 90 * time.Minute, "PT1.5S": 1500 * time.Millisecond, "P1DT1S": 24*time.Hour + time.Second,
		"-PT5M": -5 * time.Minute, "pt5m": 5 * time.Minute,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "P", "PT", "1h", "P1H"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}
