package integration

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// javaClasses is the class path of the programs in folder java, compiled once per
// test process against Apache's clients. An errNoJava says what is missing for it.
var javaClasses = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", errNoJava(tool + " is not in PATH")
		}
	}
	jars, err := javaClients()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "moldau-java-")
	if err != nil {
		return "", err
	}
	compiled = dir
	sources, err := filepath.Glob("java/*.java")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("javac", append([]string{"-Xlint:all", "-Werror", "-cp", jars, "-d", dir}, sources...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, out)
	}
	return dir + string(filepath.ListSeparator) + jars, nil
})

// errNoJava is why Java programs cannot run here.
type errNoJava string

func (e errNoJava) Error() string { return string(e) }

// compiled is the folder of the classes; TestMain removes it.
var compiled string

// removeClasses removes what javaClasses has compiled.
func removeClasses() {
	if compiled != "" {
		_ = os.RemoveAll(compiled) // In the folder for what may be lost.
	}
}

// javaClients has Maven copy the jars that java/pom.xml names beside the control's,
// once per state of that file, and returns them as a class path.
func javaClients() (string, error) {
	dir := filepath.Join(apacheHome(), "clients")
	stamp := filepath.Join(dir, ".pom")
	pom, err := os.ReadFile("java/pom.xml")
	if err != nil {
		return "", err
	}
	if had, err := os.ReadFile(stamp); err == nil && bytes.Equal(had, pom) {
		return filepath.Join(dir, "*"), nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	cmd := exec.Command("mvn", "-q", "-B", "-f", "java/pom.xml", "dependency:copy-dependencies",
		"-DoutputDirectory="+dir, "-DincludeScope=runtime")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errNoJava(fmt.Sprintf("Maven could not fetch Apache's clients: %v\n%s", err, out))
	}
	return filepath.Join(dir, "*"), os.WriteFile(stamp, pom, 0o644)
}

// program is one of the Java programs as a process. Its methods belong to the test's
// goroutine.
type program struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr logBuffer
	exited chan error
}

// programEndsIn is how long a program may take to end once it was told to.
const programEndsIn = 2 * time.Minute

// requireJava skips a test that runs Java programs where they cannot run.
func requireJava(t testing.TB) string {
	t.Helper()
	classes, err := javaClasses()
	if missing := errNoJava(""); errors.As(err, &missing) {
		t.Skipf("SKIP Apache's Java clients: %v", missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	return classes
}

// startProgram runs a Java program and gives each line of its output to line, in a
// goroutine of its own. The test's end kills it, and shows what it wrote to standard
// error if the test has failed.
func startProgram(t testing.TB, line func(string), class string, args ...string) *program {
	t.Helper()
	java := []string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dlog4j2.configurationFile=../compat/apache/log4j2-tools.properties", "-cp", requireJava(t), class,
	}
	p := &program{name: class, cmd: exec.Command("java", append(java, args...)...), exited: make(chan error, 1)}
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			line(lines.Text())
		}
		p.exited <- errors.Join(lines.Err(), p.cmd.Wait())
	}()
	t.Cleanup(func() {
		if p.cmd != nil {
			p.kill(t)
		}
		if t.Failed() {
			t.Logf("%s %v wrote:\n%s", class, args, p.stderr.String())
		}
	})
	return p
}

// close tells the program to end; wait waits for it.
func (p *program) close(t testing.TB) {
	t.Helper()
	if err := p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
}

// wait waits until the program has ended and all of its lines were given on. It must
// end well.
func (p *program) wait(t testing.TB, within time.Duration) {
	t.Helper()
	select {
	case err := <-p.exited:
		p.cmd = nil
		if err != nil {
			t.Fatalf("%s ended: %v", p.name, err)
		}
	case <-time.After(within):
		t.Fatalf("%s does not end within %v", p.name, within)
	}
}

// end is close and wait.
func (p *program) end(t testing.TB) {
	t.Helper()
	p.close(t)
	p.wait(t, programEndsIn)
}

// kill ends the program by SIGKILL.
func (p *program) kill(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	<-p.exited // Always "signal: killed".
	p.cmd = nil
}
