// Consumers of three libraries for Go, each with its own defaults but for the session and the start: `clients LIBRARY
// BOOTSTRAP GROUP`. They read the topic with
// the name of the group and commit until SIGTERM, and then close.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

const session = 6 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	run := map[string]func(context.Context, string, string) error{
		"franz-go": franzGo, "franz-go-next": franzGoNext, "sarama": saramaGroup, "kafka-go": kafkaGo,
	}[os.Args[1]]
	if err := run(ctx, os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func franzGo(ctx context.Context, bootstrap, group string) error {
	return franz(ctx, bootstrap, group, kgo.SessionTimeout(session), kgo.HeartbeatInterval(time.Second))
}

// The group protocol of KIP-848, which has to be asked for.
func franzGoNext(ctx context.Context, bootstrap, group string) error {
	asked := context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true)
	return franz(ctx, bootstrap, group, kgo.WithContext(asked))
}

func franz(ctx context.Context, bootstrap, group string, options ...kgo.Opt) error {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(group), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		client.PollFetches(ctx)
	}
	return nil
}

type handler struct{}

func (handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
	}
	return nil
}

func saramaGroup(ctx context.Context, bootstrap, group string) error {
	config := sarama.NewConfig()
	config.Consumer.Group.Session.Timeout, config.Consumer.Group.Heartbeat.Interval = session, time.Second
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	client, err := sarama.NewConsumerGroup([]string{bootstrap}, group, config)
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		if err := client.Consume(ctx, []string{group}, handler{}); err != nil {
			log.Print(err)
		}
	}
	return nil
}

func kafkaGo(ctx context.Context, bootstrap, group string) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{bootstrap}, GroupID: group, Topic: group, StartOffset: kafka.FirstOffset,
		SessionTimeout: session, HeartbeatInterval: time.Second,
	})
	defer reader.Close()
	for ctx.Err() == nil {
		if _, err := reader.ReadMessage(ctx); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
	}
	return nil
}
