import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * Kafka's own consumers and Kafka Streams with their own defaults but for the session and the start:
 * `Consume KIND BOOTSTRAP GROUP NUMBER`. They read the topic with the name of the group and
 * commit until SIGTERM, and then close.
 */
public final class Consume {
    private static final CountDownLatch CLOSED = new CountDownLatch(1);
    private static volatile boolean stopped;

    public static void main(String[] arguments) throws Exception {
        String kind = arguments[0];
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[1]);
        config.put("auto.offset.reset", "earliest");
        if (kind.startsWith("streams")) {
            streams(kind, config, arguments);
            return;
        }
        config.put("group.id", arguments[2]);
        config.put("key.deserializer", StringDeserializer.class);
        config.put("value.deserializer", StringDeserializer.class);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopped = true;
            try {
                CLOSED.await();
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }));
        if (kind.equals("share")) {
            config.remove("auto.offset.reset");
            try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(config)) {
                consumer.subscribe(List.of(config.getProperty("group.id")));
                while (!stopped) {
                    consumer.poll(Duration.ofMillis(200));
                }
            }
        } else {
            consume(kind, config, arguments[3]);
        }
        CLOSED.countDown();
    }

    private static void consume(String kind, Properties config, String number) {
        if (kind.endsWith("consumer")) {
            config.put("group.protocol", "consumer");
        } else {
            config.putAll(Map.of("session.timeout.ms", 6000, "heartbeat.interval.ms", 1000));
        }
        if (kind.equals("cooperative")) {
            config.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
        }
        if (kind.startsWith("static")) {
            config.put("group.instance.id", "instance-" + number);
        }
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config)) {
            consumer.subscribe(List.of(config.getProperty("group.id")));
            while (!stopped) {
                consumer.poll(Duration.ofMillis(200));
            }
        }
    }

    private static void streams(String kind, Properties config, String[] arguments) {
        config.putAll(Map.of(
                "application.id", arguments[2], "state.dir", System.getProperty("java.io.tmpdir") + "/" + UUID.randomUUID(),
                "default.key.serde", Serdes.StringSerde.class, "default.value.serde", Serdes.StringSerde.class));
        if (kind.equals("streams")) {
            config.put("group.protocol", "streams");
        } else {
            config.putAll(Map.of("session.timeout.ms", 6000, "heartbeat.interval.ms", 1000));
        }
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[2]).foreach((key, value) -> { });
        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}
