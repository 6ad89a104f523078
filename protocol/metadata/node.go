package metadata

// Endpoint is where one listener of a node is reached.
type Endpoint struct {
	Name             string // The listener's name.
	Host             string
	Port             uint16
	SecurityProtocol int16 // 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
}

func (e *Endpoint) fields(c *codec) {
	c.string(&e.Name)
	c.string(&e.Host)
	c.uint16(&e.Port)
	c.int16(&e.SecurityProtocol)
	c.tags()
}

// FeatureRange is the range of levels of a feature that a node supports.
type FeatureRange struct {
	Name                string
	MinSupportedVersion int16
	MaxSupportedVersion int16
}

func (f *FeatureRange) fields(c *codec) {
	c.string(&f.Name)
	c.int16(&f.MinSupportedVersion)
	c.int16(&f.MaxSupportedVersion)
	c.tags()
}

// least sizes, in bytes, of the nested structs: what bounds an array's length.
const (
	endpointBytes = 1 + 1 + 2 + 2 + 1
	featureBytes  = 1 + 2 + 2 + 1
)

// RegisterBroker registers a broker, or states its registration (in a snapshot).
// Version 1 added InControlledShutdown, 2 IsMigratingZkBroker, 3 LogDirs, 4
// CordonedLogDirs.
type RegisterBroker struct {
	BrokerID             int32
	IsMigratingZkBroker  bool // Always false: ZooKeeper is gone.
	IncarnationID        [16]byte
	BrokerEpoch          int64
	EndPoints            []Endpoint
	Features             []FeatureRange
	Rack                 *string
	Fenced               bool
	InControlledShutdown bool
	LogDirs              [][16]byte
	CordonedLogDirs      [][16]byte // nil until the broker has told.
}

// Key implements Record.
func (*RegisterBroker) Key() Key { return KeyRegisterBroker }

func (r *RegisterBroker) fields(c *codec) {
	c.int32(&r.BrokerID)
	c.since(2, r.IsMigratingZkBroker, func() { c.bool(&r.IsMigratingZkBroker) })
	c.uuid(&r.IncarnationID)
	c.int64(&r.BrokerEpoch)
	array(c, &r.EndPoints, endpointBytes, func(e *Endpoint) { e.fields(c) })
	array(c, &r.Features, featureBytes, func(f *FeatureRange) { f.fields(c) })
	c.nullString(&r.Rack)
	c.bool(&r.Fenced)
	c.since(1, r.InControlledShutdown, func() { c.bool(&r.InControlledShutdown) })
	c.tags(
		tag{0, 3, len(r.LogDirs) > 0, func() { c.uuids(&r.LogDirs) }},
		tag{1, 4, r.CordonedLogDirs != nil, func() { c.nullUUIDs(&r.CordonedLogDirs) }},
	)
}

// UnregisterBroker removes a broker's registration.
type UnregisterBroker struct {
	BrokerID    int32
	BrokerEpoch int64
}

// Key implements Record.
func (*UnregisterBroker) Key() Key { return KeyUnregisterBroker }

func (r *UnregisterBroker) fields(c *codec) {
	c.int32(&r.BrokerID)
	c.int64(&r.BrokerEpoch)
	c.tags()
}

// FenceBroker fences a broker. Kafka writes BrokerRegistrationChange instead since
// 3.3, but still reads this.
type FenceBroker struct {
	ID    int32
	Epoch int64
}

// Key implements Record.
func (*FenceBroker) Key() Key { return KeyFenceBroker }

func (r *FenceBroker) fields(c *codec) {
	c.int32(&r.ID)
	c.int64(&r.Epoch)
	c.tags()
}

// UnfenceBroker lifts the fence of a broker; see FenceBroker.
type UnfenceBroker struct {
	ID    int32
	Epoch int64
}

// Key implements Record.
func (*UnfenceBroker) Key() Key { return KeyUnfenceBroker }

func (r *UnfenceBroker) fields(c *codec) {
	c.int32(&r.ID)
	c.int64(&r.Epoch)
	c.tags()
}

// Values of BrokerRegistrationChange.Fenced and InControlledShutdown.
const (
	Unfence         int8 = -1
	FenceAsBefore   int8 = 0
	Fence           int8 = 1
	ShutdownBegins  int8 = 1
	ShutdownUnknown int8 = 0 // InControlledShutdown does not change.
)

// BrokerRegistrationChange changes parts of a broker's registration.
// Version 1 added InControlledShutdown, 2 LogDirs, 3 CordonedLogDirs.
type BrokerRegistrationChange struct {
	BrokerID             int32
	BrokerEpoch          int64
	Fenced               int8       // Unfence, FenceAsBefore or Fence.
	InControlledShutdown int8       // ShutdownBegins, or 0 for no change.
	LogDirs              [][16]byte // The directories online now; empty for no change.
	CordonedLogDirs      [][16]byte // nil for no change.
}

// Key implements Record.
func (*BrokerRegistrationChange) Key() Key { return KeyBrokerRegistrationChange }

func (r *BrokerRegistrationChange) fields(c *codec) {
	c.int32(&r.BrokerID)
	c.int64(&r.BrokerEpoch)
	c.tags(
		tag{0, 0, r.Fenced != FenceAsBefore, func() { c.int8(&r.Fenced) }},
		tag{1, 1, r.InControlledShutdown != 0, func() { c.int8(&r.InControlledShutdown) }},
		tag{2, 2, len(r.LogDirs) > 0, func() { c.uuids(&r.LogDirs) }},
		tag{3, 3, r.CordonedLogDirs != nil, func() { c.nullUUIDs(&r.CordonedLogDirs) }},
	)
}

// RegisterController registers a controller (KIP-919).
type RegisterController struct {
	ControllerID     int32
	IncarnationID    [16]byte
	ZkMigrationReady bool // Always false: ZooKeeper is gone.
	EndPoints        []Endpoint
	Features         []FeatureRange
}

// Key implements Record.
func (*RegisterController) Key() Key { return KeyRegisterController }

func (r *RegisterController) fields(c *codec) {
	c.int32(&r.ControllerID)
	c.uuid(&r.IncarnationID)
	c.bool(&r.ZkMigrationReady)
	array(c, &r.EndPoints, endpointBytes, func(e *Endpoint) { e.fields(c) })
	array(c, &r.Features, featureBytes, func(f *FeatureRange) { f.fields(c) })
	c.tags()
}

// UnregisterController removes a controller's registration (KIP-1312, from
// metadata.version 4.4-IV2).
type UnregisterController struct {
	ControllerID int32
}

// Key implements Record.
func (*UnregisterController) Key() Key { return KeyUnregisterController }

func (r *UnregisterController) fields(c *codec) {
	c.int32(&r.ControllerID)
	c.tags()
}
