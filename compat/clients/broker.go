package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// broker is a broker that runs, and how to stop it.
type broker struct {
	name, version, bootstrap string

	stop func()
}

// start starts the broker that is named moldau or apache, as .ci/with-broker does, or
// takes the one at HOST:PORT.
func start(ctx context.Context, here, name string) (*broker, error) {
	root := filepath.Dir(filepath.Dir(here))
	switch name {
	case "moldau":
		return startMoldau(ctx, root)
	case "apache":
		return startApache(ctx, root)
	}
	if _, _, err := net.SplitHostPort(name); err != nil {
		return nil, fmt.Errorf("%q is no broker: want moldau, apache or HOST:PORT", name)
	}
	return &broker{name: name, bootstrap: name, stop: func() {}}, nil
}

func startMoldau(ctx context.Context, root string) (*broker, error) {
	work, err := os.MkdirTemp("", "clients-moldau")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(work, "log"))
	if err != nil {
		return nil, err
	}
	portFile := filepath.Join(work, "port")
	// As the control is set: whoever joins a group first does not wait for others.
	cmd := exec.Command(filepath.Join(root, "bin", "moldau"), "serve", "--data-dir", filepath.Join(work, "data"),
		"--listen", "127.0.0.1:0", "--port-file", portFile, "--set", "group.initial.rebalance.delay.ms=0")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the broker cannot be started; make build makes it: %w", err)
	}
	b := &broker{name: "Moldau", version: described(root), stop: func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = log.Close()
		_ = os.RemoveAll(work)
	}}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if port, err := os.ReadFile(portFile); err == nil && len(port) > 0 {
			b.bootstrap = "127.0.0.1:" + strings.TrimSpace(string(port))
			return b, nil
		}
		if ctx.Err() != nil || time.Now().After(end) {
			said, _ := os.ReadFile(log.Name())
			b.stop()
			return nil, fmt.Errorf("the broker does not serve: %s", bytes.TrimSpace(said))
		}
	}
}

// described is the version of this tree.
func described(root string) string {
	out, err := exec.Command("git", "-C", root, "describe", "--tags", "--always").Output()
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(out))
}

func startApache(ctx context.Context, root string) (*broker, error) {
	port := os.Getenv("APACHE_PORT")
	if port == "" {
		port = "19692"
	}
	data, err := os.MkdirTemp("", "clients-apache")
	if err != nil {
		return nil, err
	}
	control := func(ctx context.Context, verb string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(root, "compat", "apache", "control"), verb)
		cmd.Env = append(os.Environ(), "APACHE_PORT="+port, "APACHE_DATA="+filepath.Join(data, "data"))
		return cmd.CombinedOutput()
	}
	b := &broker{name: "Apache Kafka", bootstrap: "127.0.0.1:" + port, stop: func() {
		_, _ = control(context.Background(), "stop")
		_ = os.RemoveAll(data)
	}}
	b.version = xml(filepath.Join(root, "compat", "apache", "pom.xml"), "kafka.version")
	if out, err := control(ctx, "start"); err != nil {
		b.stop()
		return nil, fmt.Errorf("the control cannot be started: %w: %s", err, bytes.TrimSpace(out))
	}
	return b, nil
}

// xml is the text of an element in a file.
func xml(file, element string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "?"
	}
	_, after, _ := strings.Cut(string(text), "<"+element+">")
	version, _, _ := strings.Cut(after, "<")
	return version
}
