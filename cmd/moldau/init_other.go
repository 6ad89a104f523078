//go:build !unix

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "init COMMAND...",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("init: only containers of Linux have a first process")
		},
	}
}
