//go:build !linux && !darwin

package mmap

import "errors"

// Supported says whether this system can map files. Windows could, but refuses to
// delete, rename or cut a file while it is mapped, which a log does all the time.
const Supported = false

func mapFile(uintptr, int) ([]byte, error) { return nil, errors.ErrUnsupported }
func mapMemory(int) ([]byte, error)        { return nil, errors.ErrUnsupported }
func unmapFile([]byte) error               { return errors.ErrUnsupported }
func dontNeed([]byte) error                { return errors.ErrUnsupported }
