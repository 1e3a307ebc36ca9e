//go:build !transport

package main

import "github.com/segmentio/kafka-go"

func connectBy(config *kafka.ConsumerGroupConfig, dialer *kafka.Dialer) { config.Dialer = dialer }
