package kafkatools

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// server is a broker that runs on this machine.
type server struct {
	pid      int
	settings properties // Of its server.properties; empty if it cannot be read.
}

// runningServers finds the brokers among the processes of a Linux proc directory:
// what was started as kafka-server-start or as moldau serve.
func runningServers(proc string) ([]server, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	var found []server
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join(proc, entry.Name(), "cmdline"))
		if err != nil {
			continue // It ended, or is somebody else's.
		}
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		file, ok := servesOn(args)
		if !ok {
			continue
		}
		s := server{pid: pid, settings: properties{}}
		if file != "" && !filepath.IsAbs(file) {
			file = filepath.Join(proc, entry.Name(), "cwd", file)
		}
		if settings, err := loadProperties(file); err == nil {
			s.settings = settings
		}
		found = append(found, s)
	}
	return found, nil
}

// servesOn says whether a command line is that of a broker, and which settings file
// it names.
func servesOn(args []string) (file string, ok bool) {
	program := strings.TrimSuffix(filepath.Base(args[0]), ".sh")
	switch {
	case program == "kafka-server-start" && len(args) > 1:
		return args[1], args[1] != "-daemon"
	case program == "moldau" && len(args) > 3 && args[1] == "tool" && strings.TrimSuffix(args[2], ".sh") == "kafka-server-start":
		return args[3], args[3] != "-daemon"
	case program == "moldau" && len(args) > 1 && args[1] == "serve":
		for i, arg := range args {
			if value, ok := strings.CutPrefix(arg, "--config="); ok {
				return value, true
			}
			if arg == "--config" && i+1 < len(args) {
				return args[i+1], true
			}
		}
		return "", true
	}
	return "", false
}
