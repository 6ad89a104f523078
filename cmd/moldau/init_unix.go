//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// initCommand is the first process of a container whose command is a shell. The
// kernel gives a first process no signal that it does not handle, and a shell
// handles none while it waits for the broker: a container that harnesses start by a
// script would be killed after ten seconds each time it is stopped.
func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "init COMMAND...",
		Short:              "Run a command as a container's first process, and pass signals on to all",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("init: there is no command to run")
			}
			code, err := runInit(args)
			if err != nil {
				return err
			}
			os.Exit(code)
			return nil
		},
	}
}

// runInit runs a command and returns its exit code. A signal goes to every process
// that there is; after one, the processes that the command left behind are
// waited for.
func runInit(args []string) (int, error) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return 0, fmt.Errorf("init: %w", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
	child, err := os.StartProcess(path, args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, fmt.Errorf("init: %w", err)
	}
	ended := make(chan int, 1)
	none := make(chan struct{})
	go reap(child.Pid, ended, none)
	code, stopping := 0, false
	for {
		select {
		case s := <-signals:
			stopping = true
			// Only the first process reaches all others and not itself; elsewhere it
			// would be all of the user's.
			to := child.Pid
			if os.Getpid() == 1 {
				to = -1
			}
			// A process that is gone needs no signal.
			_ = syscall.Kill(to, s.(syscall.Signal))
		case code = <-ended:
			if !stopping {
				return code, nil
			}
			ended = nil
		case <-none:
			if ended != nil {
				code = <-ended
			}
			return code, nil
		}
	}
}

// reap waits for every process that is or becomes a child of this one, tells the
// exit code of one of them, and closes none when there is none left.
func reap(pid int, ended chan<- int, none chan<- struct{}) {
	defer close(none)
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		if got == pid {
			ended <- exitCode(status)
		}
	}
}

// exitCode is the exit code of a shell for a process that ended so.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
