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

/** Lives through the life of groups of every kind on a real broker, until each kind of record was written. Argument: the broker. */
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
            farewells(admin);
        }
    }

    private static Map<String, Object> config(String group, Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("group.id", group);
        config.put("client.id", group + "-client");
        config.put("key.deserializer", StringDeserializer.class);
        config.put("value.deserializer", StringDeserializer.class);
        config.putAll(more);
        return config;
    }

    private static KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class));
        config.putAll(more);
        return new KafkaProducer<>(config);
    }

    private static void produce(String topic, int records) throws Exception {
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            for (int at = 0; at < records; at++) {
                producer.send(new ProducerRecord<>(topic, at % 2, "k" + at, "v" + at)).get();
            }
        }
    }

    /** A group of each classic assignor, one of them with a static member and with metadata in its commits. */
    private static void classic() {
        for (String assignor : List.of("Range", "Sticky", "CooperativeSticky")) {
            Map<String, Object> more = new HashMap<>(Map.of(
                "auto.offset.reset", "earliest", "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer." + assignor + "Assignor", "client.rack", "rack-1"));
            if (assignor.equals("Range")) {
                more.put("group.instance.id", "static-1");
            }
            try (KafkaConsumer<String, String> one = new KafkaConsumer<>(config("classic-" + assignor, more))) {
                one.subscribe(List.of("in"));
                settle(one);
                more.remove("group.instance.id");
                try (KafkaConsumer<String, String> two = new KafkaConsumer<>(config("classic-" + assignor, more))) {
                    two.subscribe(List.of("in"));
                    for (int at = 0; at < 20; at++) {
                        one.poll(Duration.ofMillis(100));
                        two.poll(Duration.ofMillis(100));
                    }
                    commit(one);
                    commit(two);
                }
                settle(one);
                for (TopicPartition partition : one.assignment()) {
                    one.commitSync(Map.of(partition, new OffsetAndMetadata(1, "m".repeat(200) + "ü€😀\n")));
                }
            }
        }
    }

    /** Commits as soon as no rebalance is in the way. */
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

    private static void settle(KafkaConsumer<String, String> consumer) {
        for (int at = 0; at < 15; at++) {
            consumer.poll(Duration.ofMillis(100));
        }
    }

    private static void transactional() {
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(new TopicPartition("in", 0), new OffsetAndMetadata(7));
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", "tx-1"));
                KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config("transactional", Map.of()))) {
            consumer.subscribe(List.of("in"));
            settle(consumer);
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

    /** A KIP-848 group: a regular expression, a second member that takes and gives back, a static member that leaves for a while. */
    private static void modern() {
        Map<String, Object> more = Map.of("group.protocol", "consumer", "auto.offset.reset", "earliest", "client.rack", "r");
        try (KafkaConsumer<String, String> one = new KafkaConsumer<>(config("modern", more))) {
            one.subscribe(new SubscriptionPattern("i.*"));
            settle(one);
            settle(one);
            Map<String, Object> fixed = new HashMap<>(more);
            fixed.put("group.instance.id", "static-2");
            try (KafkaConsumer<String, String> two = new KafkaConsumer<>(config("modern", fixed))) {
                two.subscribe(List.of("in", "out"));
                for (int at = 0; at < 30; at++) {
                    one.poll(Duration.ofMillis(100));
                    two.poll(Duration.ofMillis(100));
                }
                commit(one);
                commit(two);
            }
            settle(one);
        }
        // A classic member in a KIP-848 group: converted on the fly.
        try (KafkaConsumer<String, String> one = new KafkaConsumer<>(config("mixed", more));
                KafkaConsumer<String, String> two = new KafkaConsumer<>(config("mixed", Map.of()))) {
            one.subscribe(List.of("in"));
            settle(one);
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

    /** An application with a store and a repartition topic, so that every part of a topology is there. */
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

    /** Deletes one offset and all the groups, so that every kind of tombstone is written. */
    private static void farewells(Admin admin) throws Exception {
        admin.deleteConsumerGroupOffsets("classic-Sticky", Set.of(new TopicPartition("in", 0))).all().get(20, TimeUnit.SECONDS);
        patiently(() -> admin.deleteConsumerGroups(List.of("classic-Sticky")).all());
        patiently(() -> admin.deleteConsumerGroups(List.of("modern")).all());
        patiently(() -> admin.deleteShareGroups(List.of("shared")).all());
        patiently(() -> admin.deleteStreamsGroups(List.of("streams-new")).all());
    }

    /** Tries until the members that are away have been given up and the group is empty. */
    private static void patiently(Supplier<KafkaFuture<Void>> delete) throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                delete.get().get(20, TimeUnit.SECONDS);
                return;
            } catch (ExecutionException notYet) {
                if (notYet.getCause() instanceof GroupIdNotFoundException) {
                    return;
                }
                if (tries == 60) {
                    throw notYet;
                }
                Thread.sleep(1000);
            }
        }
    }
}
