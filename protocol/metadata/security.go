package metadata

// AccessControlEntry adds an ACL. The numbers are those of the CreateAcls request.
type AccessControlEntry struct {
	ID             [16]byte
	ResourceType   int8
	ResourceName   string
	PatternType    int8
	Principal      string
	Host           string
	Operation      int8
	PermissionType int8
}

// Key implements Record.
func (*AccessControlEntry) Key() Key { return KeyAccessControlEntry }

func (r *AccessControlEntry) fields(c *codec) {
	c.uuid(&r.ID)
	c.int8(&r.ResourceType)
	c.string(&r.ResourceName)
	c.int8(&r.PatternType)
	c.string(&r.Principal)
	c.string(&r.Host)
	c.int8(&r.Operation)
	c.int8(&r.PermissionType)
	c.tags()
}

// RemoveAccessControlEntry removes the ACL with an id.
type RemoveAccessControlEntry struct {
	ID [16]byte
}

// Key implements Record.
func (*RemoveAccessControlEntry) Key() Key { return KeyRemoveAccessControlEntry }

func (r *RemoveAccessControlEntry) fields(c *codec) {
	c.uuid(&r.ID)
	c.tags()
}

// UserScramCredential sets a user's SCRAM credential.
type UserScramCredential struct {
	Name       string
	Mechanism  int8 // 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
	Iterations int32
}

// Key implements Record.
func (*UserScramCredential) Key() Key { return KeyUserScramCredential }

func (r *UserScramCredential) fields(c *codec) {
	c.string(&r.Name)
	c.int8(&r.Mechanism)
	c.bytes(&r.Salt)
	c.bytes(&r.StoredKey)
	c.bytes(&r.ServerKey)
	c.int32(&r.Iterations)
	c.tags()
}

// RemoveUserScramCredential removes a user's SCRAM credential.
type RemoveUserScramCredential struct {
	Name      string
	Mechanism int8
}

// Key implements Record.
func (*RemoveUserScramCredential) Key() Key { return KeyRemoveUserScramCredential }

func (r *RemoveUserScramCredential) fields(c *codec) {
	c.string(&r.Name)
	c.int8(&r.Mechanism)
	c.tags()
}

// DelegationToken makes or renews a delegation token. Times are milliseconds since
// the epoch.
type DelegationToken struct {
	Owner               string
	Requester           string
	Renewers            []string
	IssueTimestamp      int64
	MaxTimestamp        int64
	ExpirationTimestamp int64
	TokenID             string
}

// Key implements Record.
func (*DelegationToken) Key() Key { return KeyDelegationToken }

func (r *DelegationToken) fields(c *codec) {
	c.string(&r.Owner)
	c.string(&r.Requester)
	array(c, &r.Renewers, 1, c.string)
	c.int64(&r.IssueTimestamp)
	c.int64(&r.MaxTimestamp)
	c.int64(&r.ExpirationTimestamp)
	c.string(&r.TokenID)
	c.tags()
}

// RemoveDelegationToken removes a delegation token.
type RemoveDelegationToken struct {
	TokenID string
}

// Key implements Record.
func (*RemoveDelegationToken) Key() Key { return KeyRemoveDelegationToken }

func (r *RemoveDelegationToken) fields(c *codec) {
	c.string(&r.TokenID)
	c.tags()
}
