package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

func TestLocalAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		listeners, controllers, want string
	}{
		"every interface":       {"PLAINTEXT://:9092", "", "localhost:9092"},
		"every IPv6 one":        {"PLAINTEXT://[::]:9092", "", "localhost:9092"},
		"a host":                {"PLAINTEXT://kafka:9092", "", "kafka:9092"},
		"a controller in front": {"CONTROLLER://:9093,PLAINTEXT://0.0.0.0:9092", "", "localhost:9092"},
		"another name of it":    {"QUORUM://:9093, PLAINTEXT://:19092,", "QUORUM", "localhost:19092"},
		"none":                  {"CONTROLLER://:9093", "CONTROLLER", ""},
		"no port":               {"PLAINTEXT://h", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			settings := map[string]string{"listeners": tc.listeners, "controller.listener.names": tc.controllers}
			got, err := localAddress(settings)
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("%q (%v), want %q", got, err, tc.want)
			}
		})
	}
}

// The command succeeds while the broker serves, and fails before and after.
func TestHealth(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	if _, errs, code := execute(t, "", "health", "--config", file); code == 0 {
		t.Errorf("healthy without settings: %s", errs)
	}
	var addr string
	t.Run("serving", func(t *testing.T) {
		addr = brokertest.Start(t).Addr()
		if err := os.WriteFile(file, []byte("listeners=PLAINTEXT://"+addr+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := execute(t, "", "health", "--config", file); code != 0 {
			t.Errorf("exit code %d: %s", code, errs)
		}
	})
	_, errs, code := execute(t, "", "health", "--config", file)
	if code != 1 || !strings.Contains(errs, addr+" does not answer") {
		t.Errorf("exit code %d, %q after the end", code, errs)
	}
}
