// Package script holds the end-to-end scripts of the clients' matrix, written once
// for every client in Go, and what runs them.
package script

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"
)

// limit is how long a script may take. One that is not done by then has failed, and
// says what it waited for.
const limit = 60 * time.Second

// ErrNotApplicable says that a client has not what it is asked for. Wrap it with the
// reason.
var ErrNotApplicable = errors.New("not applicable")

// Result is one line of a runner's output.
type Result struct {
	Script        string   `json:"script"`
	OK            bool     `json:"ok"`
	Seconds       float64  `json:"seconds"`
	Error         string   `json:"error,omitempty"`
	NotApplicable string   `json:"not_applicable,omitempty"`
	Without       []string `json:"without,omitempty"` // Parts that the client has not.
}

// Run is one script's run. A script ends at the first thing that is wrong.
type Run struct {
	id      string
	corrupt bool

	mu struct {
		sync.Mutex

		waitsFor string
		result   Result
	}
}

// Name makes a name of a topic or group that no other run has.
func (r *Run) Name(what string) string { return "clients-" + r.id + "-" + what }

// Waits notes what the script waits for from here.
func (r *Run) Waits(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.waitsFor = what
}

// Fail ends the script.
func (r *Run) Fail(format string, args ...any) {
	r.mu.Lock()
	r.mu.result.Error = fmt.Sprintf(format, args...) + " (last waited for " + r.mu.waitsFor + ")"
	r.mu.Unlock()
	runtime.Goexit()
}

// Must ends the script on an error.
func (r *Run) Must(err error) {
	if errors.Is(err, ErrNotApplicable) {
		r.mu.Lock()
		r.mu.result.NotApplicable = strings.TrimSuffix(err.Error(), ": "+ErrNotApplicable.Error())
		r.mu.Unlock()
		runtime.Goexit()
	}
	if err != nil {
		r.Fail("%v", err)
	}
}

// Part says whether the client has a part of the script, and notes if it has not.
func (r *Run) Part(what string, err error) bool {
	if errors.Is(err, ErrNotApplicable) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mu.result.Without = append(r.mu.result.Without, what)
		return false
	}
	r.Must(err)
	return true
}

// Same ends the script unless got equals want. A corrupt run compares with another
// value, to show that the comparison is one.
func (r *Run) Same(what string, got, want any) {
	if r.corrupt {
		want = altered(want)
	}
	if !reflect.DeepEqual(got, want) {
		r.Fail("%s: got %s, want %s", what, short(got), short(want))
	}
}

// Until calls done until it returns true.
func (r *Run) Until(what string, within time.Duration, done func() bool) {
	r.Waits(what)
	for end := time.Now().Add(within); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fail("waited %v for %s", within, what)
		}
	}
}

// altered returns a value of the same kind that is not equal.
func altered(value any) any {
	switch v := value.(type) {
	case bool:
		return !v
	case int:
		return v + 1
	case int64:
		return v + 1
	case string:
		return v + "?"
	case []byte:
		return append([]byte("?"), v...)
	case []int64:
		return append([]int64{-1}, v...)
	case []string:
		return append([]string{"?"}, v...)
	default:
		return "?"
	}
}

func short(value any) string {
	text := fmt.Sprintf("%v", value)
	if b, ok := value.([]byte); ok {
		text = fmt.Sprintf("%q", b)
	}
	if len(text) > 200 {
		text = fmt.Sprintf("%.180s... (%d characters)", text, len(text))
	}
	return text
}

// payload returns bytes that a codec can shrink where seed is even, and cannot where
// it is odd.
func payload(seed, size int) []byte {
	if seed%2 == 0 {
		unit := fmt.Sprintf("record %d, ", seed)
		return []byte(strings.Repeat(unit, size/len(unit)+1))[:size]
	}
	random, value := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}), make([]byte, size)
	_, _ = random.Read(value) // It never fails.
	return value
}

// one is a script and its name.
type one struct {
	name string
	run  func(Client, *Run)
}

func (o one) do(dial func(string) (Client, error), bootstrap string, corrupt bool) Result {
	r := &Run{id: fmt.Sprintf("%010x", rand.Uint64()>>24), corrupt: corrupt}
	r.mu.result.Script = o.name
	r.Waits("a first answer of " + bootstrap)
	begin, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		client, err := dial(bootstrap)
		r.Must(err)
		o.run(client, r)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mu.result.OK = true
	}()
	select {
	case <-done:
	case <-time.After(limit):
		r.mu.Lock()
		r.mu.result.Error = fmt.Sprintf("not done after %v: waited for %s", limit, r.mu.waitsFor)
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.result.Seconds = time.Since(begin).Round(10 * time.Millisecond).Seconds()
	return r.mu.result
}

// Main is the program of a runner: it runs the scripts that it is asked for and
// prints a line of JSON for each.
func Main(dial func(bootstrap string) (Client, error)) {
	bootstrap := flag.String("bootstrap", "", "HOST:PORT of a broker")
	name := flag.String("script", "all", "which script to run")
	corrupt := flag.Bool("corrupt", false, "compare with wrong values: every script must fail")
	flag.Parse()
	out, ran := json.NewEncoder(os.Stdout), false
	for _, o := range all {
		if *bootstrap != "" && (*name == "all" || *name == o.name) {
			ran = true
			if err := out.Encode(o.do(dial, *bootstrap, *corrupt)); err != nil {
				fmt.Fprintln(os.Stderr, "run: the result cannot be printed:", err)
				os.Exit(1)
			}
		}
	}
	if !ran {
		fmt.Fprintln(os.Stderr, "usage: run --bootstrap HOST:PORT [--script all|NAME]; the names are those of script/scripts.go")
		os.Exit(2)
	}
}
