package brokertest

import (
	"errors"
	"fmt"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// Crash cuts the power: the broker is gone at once, and with it everything that
// was not fsynced. As with Kafka that may be records that were acknowledged; the
// setting log.flush.interval.messages=1 makes the broker fsync before it
// acknowledges. Clients see their connections break. Restart brings the broker
// back. It needs the data in memory.
func (c *Cluster) Crash() {
	c.t.Helper()
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	if c.storage.mem == nil {
		c.t.Fatal("Crash: a power cut can be played with data in memory only; use Kill, or leave out Disk and Dir")
	}
	c.lose(vfs.CrashLoseAll)
}

// Kill is kill -9: the broker is gone at once, but what it wrote is there, as
// the operating system goes on. Restart brings the broker back.
func (c *Cluster) Kill() {
	c.t.Helper()
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	if c.storage.mem != nil {
		c.lose(vfs.CrashKeepAll)
		return
	}
	c.net.sever()
	killed := errors.New("killed by the test")
	for _, op := range []vfs.Op{
		vfs.OpOpen, vfs.OpWrite, vfs.OpTruncate, vfs.OpSync, vfs.OpAllocate, vfs.OpRemove,
		vfs.OpRemoveAll, vfs.OpRename, vfs.OpMkdir, vfs.OpSyncDir,
	} {
		c.storage.fault.Inject(vfs.Rule{Op: op, Times: -1, Err: killed})
	}
	c.stop() //nolint:errcheck // It fails, as everything it did since.
	c.storage = onDisk(c.storage.dir, c.storage.keep)
}

// lose ends the broker and goes on with what that leaves of its disk. The network
// goes first: nothing is acknowledged that is not in the copy.
func (c *Cluster) lose(mode vfs.CrashMode) {
	c.net.sever()
	after := c.storage.mem.Crash(c.chance, mode)
	c.stop() //nolint:errcheck // Whatever it does now, nobody will know.
	c.storage = inMemory(after)
}

// Stop stops the broker cleanly, as SIGTERM does. Restart brings it back.
func (c *Cluster) Stop() {
	c.t.Helper()
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	c.stopCleanly()
}

func (c *Cluster) stopCleanly() {
	c.t.Helper()
	err := c.stop()
	c.net.sever()
	if err != nil {
		c.t.Fatalf("the broker failed: %v", err)
	}
}

// Restart starts the broker again on its data, after Crash, Kill or Stop. One
// that runs is stopped cleanly first. The address is the same as before.
func (c *Cluster) Restart() {
	c.t.Helper()
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	c.stopCleanly()
	if err := c.start(); err != nil {
		c.t.Fatal(err)
	}
}

// Cut cuts the clients off: connections break, and new ones are refused, until
// Heal. The broker goes on.
func (c *Cluster) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.cut = true
	c.net.sever()
}

// Heal lets clients connect again after Cut.
func (c *Cluster) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.cut = false
	if c.mu.node != nil {
		c.net.mend()
	}
}

// Reset makes the cluster as Start returned it, for the next test that shares
// it: hooks are removed, the network is whole, and the broker runs on a new
// disk, with the topics and records of the options. The address stays;
// connections break.
func (c *Cluster) Reset() {
	c.t.Helper()
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	if c.storage.keep {
		c.t.Fatalf("Reset: %s is not Start's to empty; use Disk in place of Dir", c.storage.dir)
	}
	c.hooks.clear()
	c.stopCleanly()
	c.mu.Lock()
	c.mu.cut = false
	c.mu.Unlock()
	var err error
	if c.storage, err = newStorage(c.t, c.opts); err == nil {
		err = c.first()
	}
	if err != nil {
		c.t.Fatal(fmt.Errorf("Reset: %w", err))
	}
}
