module shim

go 1.26.0

require (
	github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof v0.0.0
	github.com/twmb/franz-go v1.22.2
	github.com/twmb/franz-go/pkg/kmsg v1.15.0
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
)
