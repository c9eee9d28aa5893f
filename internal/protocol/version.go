package protocol

// Version is the protocol version this server speaks, packed: major<<20 | minor<<10 | patch.
const Version uint32 = 11 << 10 // 0.11.0

// VersionMin is the lowest version that is accepted: Version without its patch.
const VersionMin = Version &^ 1023

// ServerVersion is what clients are told; they parse it as a semantic version of the protocol's family,
// with our own version behind the plus sign.
const ServerVersion = "0.9.0-edge.5+galgo." + ProductVersion

// ProductVersion is the version of this product.
const ProductVersion = "0.1.0"

// ServerVersionNumber is the numeric form of the version in statistics: major*10^6 + minor*10^3 + patch.
const ServerVersionNumber uint32 = 9_000

// AcceptsVersion reports whether a client of the packed version v is served: from the lowest accepted one
// up to any patch of our own minor version.
func AcceptsVersion(v uint32) bool { return v >= VersionMin && v>>10 <= Version>>10 }
