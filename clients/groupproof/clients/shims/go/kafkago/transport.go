//go:build transport

package main

import "github.com/segmentio/kafka-go"

// In 0.4.36 and 0.4.37 a group connects as kafka-go's newer client does; 0.4.38 took that back.
func connectBy(config *kafka.ConsumerGroupConfig, dialer *kafka.Dialer) {
	config.Transport = &kafka.Transport{ClientID: dialer.ClientID, DialTimeout: dialer.Timeout}
}
