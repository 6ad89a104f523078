package containers

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// programIn is how long a program of another language may take, its runtime's start
// and a busy machine included.
const programIn = 3 * time.Minute

// The classes of Testcontainers' Java module, and Strimzi's test container, start the
// image, and Apache's clients work through it, from this machine and from another container.
func TestJavaModule(t *testing.T) {
	javaRoundtrip(t, imageName())
}

// javaRoundtrip takes numbers through an image by each class of the Java module.
func javaRoundtrip(t *testing.T, image string, env ...string) {
	t.Helper()
	jars := javaJars(t)
	cmd := program(t, "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", filepath.Join(jars, "*"),
		"java/Roundtrip.java", image)
	cmd.Env = append(cmd.Environ(), env...)
	const read = ": read 100, in another container 100\n"
	wantOutput(t, cmd, "KafkaContainer"+read+"ConfluentKafkaContainer"+read+"older, with ZooKeeper"+read+"older, without"+read+
		"StrimziKafkaCluster"+read)
}

// javaJars has Maven copy what java/pom.xml names, once per state of that file, and
// returns the folder.
func javaJars(t *testing.T) string {
	t.Helper()
	need(t, "java", "mvn")
	dir, err := filepath.Abs("../../bin/testcontainers-java")
	if err != nil {
		t.Fatal(err)
	}
	fetchOnce(t, dir, "java/pom.xml", func(dir string) *exec.Cmd {
		return program(t, "mvn", "-q", "-B", "-f", "java/pom.xml", "dependency:copy-dependencies",
			"-DoutputDirectory="+dir, "-DincludeScope=runtime")
	})
	return dir
}

// need skips a test on a machine that lacks a tool.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not in PATH", tool)
		}
	}
}

// fetchOnce has a package client fill a folder with what a file of pinned versions
// names, once per state of that file. The test is skipped where the registry cannot
// be had.
func fetchOnce(t *testing.T, dir, pinned string, client func(dir string) *exec.Cmd) {
	t.Helper()
	want, err := os.ReadFile(pinned)
	if err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join(dir, ".pinned")
	if had, err := os.ReadFile(stamp); err == nil && bytes.Equal(had, want) {
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := client(dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s could not fetch what %s names: %v\n%s", cmd.Args[0], pinned, err, out)
	}
	if err := os.WriteFile(stamp, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// program is a process that ends with the test, or when it takes too long.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programIn)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, name, args...)
}

// wantOutput runs a program, which is to succeed and to print those lines at last.
func wantOutput(t *testing.T, cmd *exec.Cmd, lines string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || !strings.HasSuffix(out.String(), lines) {
		t.Fatalf("%v; it printed\n%s%s", err, out.String(), errs.String())
	}
	t.Log(out.String())
}
