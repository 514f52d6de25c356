import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

import static org.apache.kafka.streams.CloseOptions.GroupMembershipOperation.LEAVE_GROUP;

/**
 * Creates and deletes groups of every type on a real broker, so that every record type is written.
 *
 * Argument: the bootstrap address of the broker.
 */
public class Groups {
    private static String bootstrap;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic("in", 2, (short) 1), new NewTopic("out", 2, (short) 1))).all().get();
            Thread.sleep(1000);
            produce("in", 40);
            classic();
            transactional();
            modern();
            shared(admin);
            streams("streams-old", "classic");
            streams("streams-new", "streams");
            deleteGroups(admin);
        }
    }

    private static Map<String, Object> config(String group, Map<String, Object> extra) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("group.id", group);
        config.put("client.id", group + "-client");
        config.put("key.deserializer", StringDeserializer.class);
        config.put("value.deserializer", StringDeserializer.class);
        config.putAll(extra);
        return config;
    }

    private static KafkaProducer<String, String> producer(Map<String, Object> extra) {
        Map<String, Object> config = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class));
        config.putAll(extra);
        return new KafkaProducer<>(config);
    }

    private static void produce(String topic, int records) throws Exception {
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            for (int at = 0; at < records; at++) {
                producer.send(new ProducerRecord<>(topic, at % 2, "k" + at, "v" + at)).get();
            }
        }
    }

    /** A group per classic assignor; one has a static member and commits with metadata. */
    private static void classic() {
        for (String assignor : List.of("Range", "Sticky", "CooperativeSticky")) {
            Map<String, Object> extra = new HashMap<>(Map.of(
                "auto.offset.reset", "earliest", "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer." + assignor + "Assignor", "client.rack", "rack-1"));
            if (assignor.equals("Range")) {
                extra.put("group.instance.id", "static-1");
            }
            try (KafkaConsumer<String, String> one = new KafkaConsumer<>(config("classic-" + assignor, extra))) {
                one.subscribe(List.of("in"));
                pollRepeatedly(one);
                extra.remove("group.instance.id");
                try (KafkaConsumer<String, String> two = new KafkaConsumer<>(config("classic-" + assignor, extra))) {
                    two.subscribe(List.of("in"));
                    for (int at = 0; at < 20; at++) {
                        one.poll(Duration.ofMillis(100));
                        two.poll(Duration.ofMillis(100));
                    }
                    commit(one);
                    commit(two);
                }
                pollRepeatedly(one);
                for (TopicPartition partition : one.assignment()) {
                    one.commitSync(Map.of(partition, new OffsetAndMetadata(1, "m".repeat(200) + "ü€😀\n")));
                }
            }
        }
    }

    /** Commits, with retries during a rebalance. */
    private static void commit(KafkaConsumer<String, String> consumer) {
        for (int tries = 0; tries < 30; tries++) {
            try {
                consumer.commitSync();
                return;
            } catch (RebalanceInProgressException busy) {
                consumer.poll(Duration.ofMillis(100));
            }
        }
    }

    private static void pollRepeatedly(KafkaConsumer<String, String> consumer) {
        for (int at = 0; at < 15; at++) {
            consumer.poll(Duration.ofMillis(100));
        }
    }

    private static void transactional() {
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(new TopicPartition("in", 0), new OffsetAndMetadata(7));
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", "tx-1"));
                KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config("transactional", Map.of()))) {
            consumer.subscribe(List.of("in"));
            pollRepeatedly(consumer);
            producer.initTransactions();
            for (boolean commits : new boolean[] {true, false}) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>("out", "k", "v"));
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                if (commits) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
    }

    /** A KIP-848 group with a regular expression, and a static second member that joins and leaves temporarily. */
    private static void modern() {
        Map<String, Object> extra = Map.of("group.protocol", "consumer", "auto.offset.reset", "earliest", "client.rack", "r");
        try (KafkaConsumer<String, String> one = new KafkaConsumer<>(config("modern", extra))) {
            one.subscribe(new SubscriptionPattern("i.*"));
            pollRepeatedly(one);
            pollRepeatedly(one);
            Map<String, Object> staticMember = new HashMap<>(extra);
            staticMember.put("group.instance.id", "static-2");
            try (KafkaConsumer<String, String> two = new KafkaConsumer<>(config("modern", staticMember))) {
                two.subscribe(List.of("in", "out"));
                for (int at = 0; at < 30; at++) {
                    one.poll(Duration.ofMillis(100));
                    two.poll(Duration.ofMillis(100));
                }
                commit(one);
                commit(two);
            }
            pollRepeatedly(one);
        }
        // A classic member joins the KIP-848 group, which is then converted online.
        try (KafkaConsumer<String, String> one = new KafkaConsumer<>(config("mixed", extra));
                KafkaConsumer<String, String> two = new KafkaConsumer<>(config("mixed", Map.of()))) {
            one.subscribe(List.of("in"));
            pollRepeatedly(one);
            two.subscribe(List.of("in"));
            for (int at = 0; at < 20; at++) {
                one.poll(Duration.ofMillis(100));
                two.poll(Duration.ofMillis(100));
            }
        }
    }

    private static void shared(Admin admin) throws Exception {
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "shared");
        AlterConfigOp earliest = new AlterConfigOp(
            new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(group, List.of(earliest))).all().get();
        try (KafkaShareConsumer<String, String> one = new KafkaShareConsumer<>(config("shared", Map.of()))) {
            one.subscribe(List.of("in"));
            for (int at = 0; at < 40; at++) {
                for (ConsumerRecord<String, String> record : one.poll(Duration.ofMillis(100))) {
                    record.value();
                }
            }
        }
    }

    /** An application with a store and a repartition topic, so that its topology has every part. */
    private static void streams(String application, String protocol) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("in").selectKey((key, value) -> value).groupByKey()
            .count(Materialized.as(Stores.inMemoryKeyValueStore("counts")))
            .toStream().mapValues(String::valueOf).to("out");
        Properties properties = new Properties();
        properties.put("application.id", application);
        properties.put("bootstrap.servers", bootstrap);
        properties.put("group.protocol", protocol);
        properties.put("default.key.serde", Serdes.String().getClass());
        properties.put("default.value.serde", Serdes.String().getClass());
        properties.put("commit.interval.ms", 500);
        properties.put("application.server", "localhost:1234");
        properties.put("auto.offset.reset", "earliest");
        properties.put("client.tag.zone", "z1");
        properties.put("state.dir", System.getProperty("java.io.tmpdir") + "/streams-" + ProcessHandle.current().pid());
        List<KafkaStreams> running = new ArrayList<>();
        for (int instance = 0; instance < 2; instance++) {
            Properties own = new Properties();
            own.putAll(properties);
            own.put("state.dir", properties.get("state.dir") + "-" + instance);
            KafkaStreams streams = new KafkaStreams(builder.build(), own);
            streams.start();
            running.add(streams);
            Thread.sleep(5000);
            produce("in", 20);
        }
        Thread.sleep(3000);
        for (KafkaStreams streams : running) {
            streams.close(CloseOptions.groupMembershipOperation(LEAVE_GROUP).withTimeout(Duration.ofSeconds(10)));
        }
    }

    /** Deletes one offset and all groups, so that every kind of tombstone is written. */
    private static void deleteGroups(Admin admin) throws Exception {
        admin.deleteConsumerGroupOffsets("classic-Sticky", Set.of(new TopicPartition("in", 0))).all().get(20, TimeUnit.SECONDS);
        deleteWithRetries(() -> admin.deleteConsumerGroups(List.of("classic-Sticky")).all());
        deleteWithRetries(() -> admin.deleteConsumerGroups(List.of("modern")).all());
        deleteWithRetries(() -> admin.deleteShareGroups(List.of("shared")).all());
        deleteWithRetries(() -> admin.deleteStreamsGroups(List.of("streams-new")).all());
    }

    /** Retries until members that left have been fenced and the group is empty. */
    private static void deleteWithRetries(Supplier<KafkaFuture<Void>> delete) throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                delete.get().get(20, TimeUnit.SECONDS);
                return;
            } catch (ExecutionException failure) {
                if (failure.getCause() instanceof GroupIdNotFoundException) {
                    return;
                }
                if (tries == 60) {
                    throw failure;
                }
                Thread.sleep(1000);
            }
        }
    }
}
