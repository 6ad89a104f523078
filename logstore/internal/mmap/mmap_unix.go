//go:build linux || darwin

package mmap

import "golang.org/x/sys/unix"

// Supported says whether this system can map files.
const Supported = true

func mapFile(fd uintptr, sizeBytes int) ([]byte, error) {
	return unix.Mmap(int(fd), 0, sizeBytes, unix.PROT_READ, unix.MAP_SHARED)
}

func mapMemory(sizeBytes int) ([]byte, error) {
	return unix.Mmap(-1, 0, sizeBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func unmapFile(data []byte) error { return unix.Munmap(data) }

func dontNeed(pages []byte) error { return unix.Madvise(pages, unix.MADV_DONTNEED) }
