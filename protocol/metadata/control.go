package metadata

import (
	"encoding/binary"
	"fmt"
)

// The types of the control records that the quorum writes for itself, as the key
// of a control record holds them.
const (
	ControlLeaderChange   int16 = 2
	ControlSnapshotHeader int16 = 3
	ControlSnapshotFooter int16 = 4
	ControlKRaftVersion   int16 = 5
	ControlVoters         int16 = 6
)

// Control is the value of a control record of the quorum: a pointer to
// LeaderChange, SnapshotHeader, SnapshotFooter, KRaftVersion or Voters. It has no
// frame; its version is a field of its own.
type Control interface {
	// ControlType is the type that the record's key holds.
	ControlType() int16

	controlFields(c *codec)
}

// EncodeControl writes the value of a control record.
func EncodeControl(r Control) []byte {
	var c codec
	r.controlFields(&c)
	return c.out
}

// ControlKey writes the key of a control record: its version, 0, and its type.
func ControlKey(controlType int16) []byte {
	return binary.BigEndian.AppendUint16(make([]byte, 2, 4), uint16(controlType))
}

// DecodeControl reads the value of a control record of the given type. The errors
// are *UnknownKeyError, *NewerVersionError and *MalformedError, with the control
// type in the place of the record's key.
func DecodeControl(controlType int16, value []byte) (Control, error) {
	var r Control
	switch controlType {
	case ControlLeaderChange:
		r = new(LeaderChange)
	case ControlSnapshotHeader:
		r = new(SnapshotHeader)
	case ControlSnapshotFooter:
		r = new(SnapshotFooter)
	case ControlKRaftVersion:
		r = new(KRaftVersion)
	case ControlVoters:
		r = new(Voters)
	default:
		return nil, &UnknownKeyError{Key: uint32(uint16(controlType))}
	}
	c := codec{reading: true, in: value}
	r.controlFields(&c)
	if c.err == nil && len(c.in) > 0 {
		c.fail("%d bytes after its end", len(c.in))
	}
	if c.err != nil {
		return nil, &MalformedError{Key: fmt.Sprintf("control type %d", controlType), Reason: c.err.Error()}
	}
	return r, nil
}

// Voter is a voter as a leader change names it.
type Voter struct {
	ID          int32
	DirectoryID [16]byte // Written by version 1 only.
}

// LeaderChange is the first record of each leader's epoch. Version 0 has no
// directory ids; Kafka writes 1 once kraft.version is 1.
type LeaderChange struct {
	Version        int16
	LeaderID       int32
	Voters         []Voter
	GrantingVoters []Voter
}

// ControlType implements Control.
func (*LeaderChange) ControlType() int16 { return ControlLeaderChange }

func (r *LeaderChange) controlFields(c *codec) {
	c.int16(&r.Version)
	if r.Version < 0 || r.Version > 1 {
		if !c.reading {
			panic(fmt.Sprintf("BUG: LeaderChange has no version %d", r.Version))
		}
		c.fail("version %d, this release reads 0 and 1", r.Version)
	}
	c.version = r.Version
	voter := func(v *Voter) {
		c.int32(&v.ID)
		c.since(1, v.DirectoryID != [16]byte{}, func() { c.uuid(&v.DirectoryID) })
		c.tags()
	}
	c.int32(&r.LeaderID)
	array(c, &r.Voters, 5, voter)
	array(c, &r.GrantingVoters, 5, voter)
	c.tags()
}

// SnapshotHeader is the first record of a snapshot.
type SnapshotHeader struct {
	Version int16
	// LastContainedLogTimestamp is the append time of the newest record that the
	// snapshot covers, in milliseconds.
	LastContainedLogTimestamp int64
	// RaftIndex is the Raft index of the snapshot's last entry, plus one so that 0
	// is unset. It is not Kafka's: it travels as tag 10000, which Kafka skips.
	RaftIndex int64
}

// raftIndexTag is far from the tags that Kafka may come to use.
const raftIndexTag = 10000

// ControlType implements Control.
func (*SnapshotHeader) ControlType() int16 { return ControlSnapshotHeader }

func (r *SnapshotHeader) controlFields(c *codec) {
	c.int16(&r.Version)
	c.int64(&r.LastContainedLogTimestamp)
	c.tags(tag{raftIndexTag, 0, r.RaftIndex != 0, func() { c.int64(&r.RaftIndex) }})
}

// SnapshotFooter is the last record of a snapshot: without it the snapshot is
// incomplete.
type SnapshotFooter struct {
	Version int16
}

// ControlType implements Control.
func (*SnapshotFooter) ControlType() int16 { return ControlSnapshotFooter }

func (r *SnapshotFooter) controlFields(c *codec) {
	c.int16(&r.Version)
	c.tags()
}

// KRaftVersion finalizes kraft.version: 1 means that voters are in the log.
type KRaftVersion struct {
	Version      int16
	KRaftVersion int16
}

// ControlType implements Control.
func (*KRaftVersion) ControlType() int16 { return ControlKRaftVersion }

func (r *KRaftVersion) controlFields(c *codec) {
	c.int16(&r.Version)
	c.int16(&r.KRaftVersion)
	c.tags()
}

// VoterEndpoint is where a voter is reached.
type VoterEndpoint struct {
	Name string
	Host string
	Port uint16
}

// VoterNode is one voter of the quorum.
type VoterNode struct {
	ID          int32
	DirectoryID [16]byte
	Endpoints   []VoterEndpoint
	// MinKRaftVersion and MaxKRaftVersion are the levels of kraft.version that the
	// voter supports.
	MinKRaftVersion int16
	MaxKRaftVersion int16
}

// Voters is the set of voters from this record on, committed or not.
type Voters struct {
	Version int16
	Voters  []VoterNode
}

// ControlType implements Control.
func (*Voters) ControlType() int16 { return ControlVoters }

func (r *Voters) controlFields(c *codec) {
	c.int16(&r.Version)
	array(c, &r.Voters, 4+16+1+5+1, func(v *VoterNode) {
		c.int32(&v.ID)
		c.uuid(&v.DirectoryID)
		array(c, &v.Endpoints, 1+1+2+1, func(e *VoterEndpoint) {
			c.string(&e.Name)
			c.string(&e.Host)
			c.uint16(&e.Port)
			c.tags()
		})
		c.int16(&v.MinKRaftVersion)
		c.int16(&v.MaxKRaftVersion)
		c.tags() // The range of levels is a struct of its own on the wire.
		c.tags()
	})
	c.tags()
}
