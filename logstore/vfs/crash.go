package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// CrashMode says what a power cut does to the changes that were not yet synced.
// Changes that were synced always survive.
type CrashMode int8

const (
	// CrashLoseAll loses every unsynced change.
	CrashLoseAll CrashMode = iota
	// CrashKeepAll keeps every change: what kill -9 leaves behind.
	CrashKeepAll
	// CrashPrefix keeps the oldest changes, as a journal does. One half of the time
	// the cut is one moment for the whole disk; else each file, and the tree of
	// names, is cut at a moment of its own, so that a new name may stand for a file
	// whose bytes are lost.
	CrashPrefix
	// CrashSubset keeps any changes of names and any 512 B or 4 KiB blocks of each
	// write, later ones without earlier ones. What lies between reads as zeros, and a
	// file may be longer than its last surviving byte.
	CrashSubset
	// CrashTorn keeps all changes up to one write, a part of that write, and nothing
	// after it. The rest of the write's range is missing, or zeros.
	CrashTorn

	crashModes // How many there are.
)

// CrashModes lists every mode, for tests that try all of them.
func CrashModes() []CrashMode {
	var all []CrashMode
	for mode := range crashModes {
		all = append(all, mode)
	}
	return all
}

func (c CrashMode) String() string {
	names := [crashModes]string{"lose all", "keep all", "prefix", "subset", "torn"}
	if c < 0 || c >= crashModes {
		return "unknown"
	}
	return names[c]
}

// Crash returns the file system as a power cut at this moment leaves it, by mode
// and chance. All in it is durable. m itself goes on undisturbed, so a test can
// look at many futures of one moment. The same seed gives the same result.
func (m *Mem) Crash(rng *rand.Rand, mode CrashMode) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	keepNames, content := m.fateLocked(rng, mode)
	restsOn(m.mu.names, keepNames)

	trees := map[*node]map[string]*node{}
	entries := func(dir *node) map[string]*node {
		if trees[dir] == nil {
			trees[dir] = maps.Clone(dir.synced)
		}
		return trees[dir]
	}
	for i, op := range m.mu.names {
		if keepNames[i] {
			op.apply(entries)
		}
	}
	after := NewMem()
	after.mu.now = m.mu.now
	after.mu.root = survivor(m.mu.root, entries, content)
	return after
}

// survivor copies a node and what is below it. Names are visited in order, so
// that chance falls the same way every time.
func survivor(n *node, entries func(*node) map[string]*node, content func(*node) []byte) *node {
	if !n.isDir() {
		data := content(n)
		return &node{data: data, durable: slices.Clone(data), modTime: n.modTime}
	}
	cp := newDir(n.modTime)
	children := entries(n)
	for _, name := range slices.Sorted(maps.Keys(children)) {
		child := survivor(children[name], entries, content)
		cp.entries[name], cp.synced[name] = child, child
	}
	return cp
}

// fateLocked decides, by mode, which changes of names survive and what becomes of
// the bytes of a file.
func (m *Mem) fateLocked(rng *rand.Rand, mode CrashMode) (keepNames []bool, content func(*node) []byte) {
	names := func(keep func(nameOp) bool) []bool {
		flags := make([]bool, len(m.mu.names))
		for i, op := range m.mu.names {
			flags[i] = keep(op)
		}
		return flags
	}
	before := func(cut uint64) ([]bool, func(*node) []byte) {
		return names(func(op nameOp) bool { return op.seq < cut }), func(n *node) []byte { return replay(n, cut) }
	}
	switch mode {
	case CrashLoseAll:
		return before(0)
	case CrashKeepAll:
		return before(m.mu.seq + 1)
	case CrashPrefix:
		if rng.IntN(2) == 0 {
			return before(cutAmong(rng, m.changesLocked()))
		}
		var nameSeqs []uint64
		for _, op := range m.mu.names {
			nameSeqs = append(nameSeqs, op.seq)
		}
		cut := cutAmong(rng, nameSeqs)
		return names(func(op nameOp) bool { return op.seq < cut }), func(n *node) []byte {
			return replay(n, cutAmong(rng, editSeqs(n)))
		}
	case CrashSubset:
		blockBytes := []int64{512, 4096}[rng.IntN(2)]
		return names(func(nameOp) bool { return rng.IntN(2) == 0 }), func(n *node) []byte {
			return subset(rng, n, blockBytes)
		}
	case CrashTorn:
		victim, ok := m.tornLocked(rng)
		if !ok {
			return before(cutAmong(rng, m.changesLocked()))
		}
		keepNames, content := before(victim.seq)
		return keepNames, func(n *node) []byte {
			if slices.ContainsFunc(n.pending, func(e edit) bool { return e.seq == victim.seq }) {
				return tear(rng, content(n), victim)
			}
			return content(n)
		}
	}
	panic("BUG: unknown crash mode " + mode.String())
}

// changesLocked lists the numbers of all unsynced changes, in order.
func (m *Mem) changesLocked() []uint64 {
	var seqs []uint64
	for _, op := range m.mu.names {
		seqs = append(seqs, op.seq)
	}
	for _, n := range m.mu.dirty {
		seqs = append(seqs, editSeqs(n)...)
	}
	slices.Sort(seqs)
	return seqs
}

func editSeqs(n *node) []uint64 {
	var seqs []uint64
	for _, e := range n.pending {
		seqs = append(seqs, e.seq)
	}
	return seqs
}

// cutAmong picks a moment before, between or after the given changes: those with
// a smaller number than the result survive.
func cutAmong(rng *rand.Rand, seqs []uint64) uint64 {
	i := rng.IntN(len(seqs) + 1)
	if i == len(seqs) {
		if i == 0 {
			return 0
		}
		return seqs[i-1] + 1
	}
	return seqs[i]
}

// replay gives a file's durable bytes with the unsynced changes before cut.
func replay(n *node, cut uint64) []byte {
	buf := slices.Clone(n.durable)
	for _, e := range n.pending {
		if e.seq < cut {
			buf = e.apply(buf)
		}
	}
	return buf
}

// subset gives a file's durable bytes with some blocks of some changes.
func subset(rng *rand.Rand, n *node, blockBytes int64) []byte {
	if len(n.pending) == 0 {
		return slices.Clone(n.durable)
	}
	// Nearly nothing and nearly everything are the cases that hurt; a fair coin for
	// each of many blocks would hardly ever give either.
	outOf8 := []int{0, 1, 4, 7, 8}[rng.IntN(5)]
	survives := func() bool { return rng.IntN(8) < outOf8 }
	buf := slices.Clone(n.durable)
	for _, e := range n.pending {
		if e.truncate {
			if survives() {
				buf = e.apply(buf)
			}
			continue
		}
		for start := e.off; start < e.off+int64(len(e.data)); {
			end := min((start/blockBytes+1)*blockBytes, e.off+int64(len(e.data)))
			if survives() {
				buf = writeInto(buf, start, e.data[start-e.off:end-e.off])
			}
			start = end
		}
	}
	// The length may be durable before the bytes are.
	if whole := int64(len(replay(n, ^uint64(0)))); whole > int64(len(buf)) && rng.IntN(2) == 0 {
		buf = resize(buf, int64(len(buf))+rng.Int64N(whole-int64(len(buf)))+1)
	}
	return buf
}

// tornLocked picks the write that a torn crash tears; it has at least two bytes.
func (m *Mem) tornLocked(rng *rand.Rand) (edit, bool) {
	var writes []edit
	for _, n := range m.mu.dirty {
		for _, e := range n.pending {
			if len(e.data) >= 2 {
				writes = append(writes, e)
			}
		}
	}
	if len(writes) == 0 {
		return edit{}, false
	}
	slices.SortFunc(writes, func(a, b edit) int { return int(int64(a.seq) - int64(b.seq)) })
	return writes[rng.IntN(len(writes))], true
}

// tear puts a part of the write into buf: its head, or, as a disk that writes
// sectors in any order does, its tail.
func tear(rng *rand.Rand, buf []byte, e edit) []byte {
	at := 1 + rng.Int64N(int64(len(e.data))-1)
	switch rng.IntN(3) {
	case 0:
		return writeInto(buf, e.off, e.data[:at])
	case 1: // The length of the whole write, the bytes of its head.
		if end := e.off + int64(len(e.data)); end > int64(len(buf)) {
			buf = resize(buf, end)
		}
		return writeInto(buf, e.off, e.data[:at])
	default:
		return writeInto(buf, e.off+at, e.data[at:])
	}
}

// apply carries out a change of names on the directories that entries gives.
func (o nameOp) apply(entries func(*node) map[string]*node) {
	if o.from.dir != nil && entries(o.from.dir)[o.from.name] == o.node {
		delete(entries(o.from.dir), o.from.name)
	}
	if o.to.dir != nil {
		entries(o.to.dir)[o.to.name] = o.node
	}
}

// restsOn adds to the kept changes those that they rest on: every earlier change
// of a name they touch. No file system keeps the second owner of a name and
// forgets that the first has moved away.
func restsOn(ops []nameOp, keep []bool) {
	needed := map[place]bool{}
	for i, op := range slices.Backward(ops) {
		places := op.places()
		keep[i] = keep[i] || slices.ContainsFunc(places, func(p place) bool { return needed[p] })
		if keep[i] {
			for _, p := range places {
				needed[p] = true
			}
		}
	}
}
