//go:build !serverside && !serversidebeta

package main

import "github.com/twmb/franz-go/pkg/kgo"

// Before 1.19 the protocol of KIP-848 is not there.
var dialects = []string{"classic"}

func serverSide() []kgo.Opt { return nil }
