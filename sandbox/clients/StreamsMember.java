import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Produced;

/**
 * A Kafka Streams program with the streams group protocol (KIP-1071): two subtopologies, one of them with a
 * repartition topic, a store and its changelog. Runs for some seconds, then leaves its group.
 */
public final class StreamsMember {
    public static void main(String[] arguments) throws Exception {
        Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, "streams-group");
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        config.put(StreamsConfig.STATE_DIR_CONFIG, arguments[1] + "/state");
        config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 500);
        config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put("auto.offset.reset", "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("orders")
                .selectKey((key, value) -> value)
                .groupByKey()
                .count()
                .toStream()
                .mapValues(String::valueOf)
                .to("payments", Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.start();
        Thread.sleep(12_000);
        System.out.println(streams.state());
        boolean running = streams.state() == KafkaStreams.State.RUNNING;
        streams.close(
                new KafkaStreams.CloseOptions().leaveGroup(true).timeout(Duration.ofSeconds(15)));
        System.exit(running ? 0 : 1);
    }
}
