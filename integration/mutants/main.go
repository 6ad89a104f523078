//go:build unix

// Command mutants says what a test is worth: it plants faults in the broker, one at
// a time, and runs a command against each. The faults are drawn from a seed, so that
// nobody chooses those that are easy to find. Nothing in the tree is changed: a
// fault is a file that the build takes instead (go build -overlay).
//
//	go run ./mutants -n 20 -seed 4 -in coordinator/txn,broker/internal/replica -- \
//		go test -run TestHistory -binary '$MOLDAU' .
//
// The command gets the binary with the fault as $MOLDAU, and what go build and go test
// take it from as $OVERLAY. A fault is found when the command fails; one that does not
// build is drawn again. More commands, each after another --, are run in turn until one
// finds the fault. The report on the standard output is a table in Markdown, which says
// by number which that was.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	count := flag.Int("n", 20, "how many faults to plant")
	after := flag.Int("after", 0, "how many of the seed's faults to pass over, which a run that was cut short has planted")
	seed := flag.Uint64("seed", 1, "what they are drawn from")
	in := flag.String("in", "broker/internal/api", "folders to plant them in, separated by commas")
	limit := flag.Duration("limit", 5*time.Minute, "a command that takes longer has found the fault")
	root := flag.String("root", "..", "the root of the tree")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *root, strings.Split(*in, ","), *after, *count, *seed, *limit, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run plants the faults after some up to count, and prints what became of each.
func run(ctx context.Context, root string, folders []string, after, count int, seed uint64, limit time.Duration, command []string) error {
	commands, err := split(command)
	if err != nil {
		return err
	}
	var sites []site
	for _, folder := range folders {
		found, err := folderSites(root, folder)
		if err != nil {
			return err
		}
		sites = append(sites, found...)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	p := planter{root: root, dir: dir, commands: commands, limit: limit}
	if err := p.sound(ctx); err != nil {
		return err
	}
	fmt.Printf("%d of %d places, seed %d, in %s\n\n", count, len(sites), seed, strings.Join(folders, ", "))
	fmt.Print("| # | fault | found |\n|---|---|---|\n")
	planted, found := 0, make(map[string]int)
	for _, s := range sites {
		if planted == count {
			break
		}
		if planted < after {
			if p.builds(ctx, s) {
				planted++
			}
			continue
		}
		verdict, err := p.try(ctx, s)
		if err != nil {
			return err
		}
		if verdict == unbuilt {
			continue
		}
		planted++
		found[verdict]++
		fmt.Printf("| %d | `%s` | %s |\n", planted, strings.ReplaceAll(s.String(), "|", `\|`), verdict)
	}
	fmt.Printf("\n%d of %d found", planted-after-found[missed], planted-after)
	for _, verdict := range slices.Sorted(maps.Keys(found)) {
		fmt.Printf("; %s: %d", verdict, found[verdict])
	}
	fmt.Println(".")
	return nil
}

// split separates commands at each --.
func split(args []string) (commands [][]string, err error) {
	for {
		n := slices.Index(args, "--")
		if n < 0 {
			n = len(args)
		}
		if n == 0 {
			return nil, errors.New("no command after --")
		}
		commands = append(commands, args[:n])
		if n == len(args) {
			return commands, nil
		}
		args = args[n+1:]
	}
}

// What became of a fault.
const (
	unbuilt = "does not build"
	missed  = "no"
	failed  = "yes"
	slow    = "yes, by the time limit"
	by      = "%s, by %d"
)

// planter builds faults and runs the command against them.
type planter struct {
	root, dir string
	commands  [][]string
	limit     time.Duration
}

// sound sees that the command passes without a fault: else it says nothing.
func (p planter) sound(ctx context.Context) error {
	binary, err := p.build(ctx, nil)
	if err != nil {
		return err
	}
	switch verdict, output := p.judge(ctx, binary); verdict {
	case missed:
		return nil
	default:
		return fmt.Errorf("the command fails without any fault:\n%s", output)
	}
}

// try plants one fault.
func (p planter) try(ctx context.Context, s site) (verdict string, err error) {
	binary, err := p.plant(ctx, s)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil || binary == "" {
		return unbuilt, err // An unused variable, for example: no fault that could be shipped.
	}
	verdict, output := p.judge(ctx, binary)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	fmt.Fprintf(os.Stderr, "\n--- %s: %s\n%s\n", s, verdict, output)
	return verdict, nil
}

// builds says whether the program builds with a fault.
func (p planter) builds(ctx context.Context, s site) bool {
	binary, err := p.plant(ctx, s)
	return err == nil && binary != ""
}

// plant builds the program with a fault; there is none where it does not build.
func (p planter) plant(ctx context.Context, s site) (binary string, err error) {
	original := filepath.Join(p.root, s.path)
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(p.dir, "fault.go")
	text := string(source[:s.start]) + s.text + string(source[s.end:])
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(original)
	if err != nil {
		return "", err
	}
	binary, err = p.build(ctx, map[string]string{absolute: changed})
	if err != nil {
		return "", nil //nolint:nilerr // The compiler's word is no failure of this program.
	}
	return binary, nil
}

func (p planter) overlay() string { return filepath.Join(p.dir, "overlay.json") }

// build builds the binary with files replaced.
func (p planter) build(ctx context.Context, replace map[string]string) (string, error) {
	overlay := p.overlay()
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", err
	}
	binary := filepath.Join(p.dir, "moldau")
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", binary, "./cmd/moldau")
	cmd.Dir = p.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
}

// judge runs the commands against a binary until one finds a fault, and returns the end
// of what the last one printed.
func (p planter) judge(ctx context.Context, binary string) (verdict, output string) {
	for n, command := range p.commands {
		if verdict, output = p.ask(ctx, command, binary); verdict != missed {
			if len(p.commands) > 1 {
				verdict = fmt.Sprintf(by, verdict, n+1)
			}
			break
		}
	}
	return verdict, output
}

func (p planter) ask(ctx context.Context, command []string, binary string) (verdict, output string) {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	replace := strings.NewReplacer("$MOLDAU", binary, "$OVERLAY", p.overlay())
	args := make([]string, len(command))
	for n, arg := range command {
		args[n] = replace.Replace(arg)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // The broker ends with the command.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(), "MOLDAU="+binary, "OVERLAY="+p.overlay())
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // Brokers that a failed command has left.
	}
	if len(out) > 2000 {
		out = out[len(out)-2000:]
	}
	switch {
	case ctx.Err() != nil:
		return slow, string(out)
	case err != nil:
		return failed, string(out)
	}
	return missed, string(out)
}
