import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.state.HostInfo;

import com.fasterxml.jackson.databind.ObjectMapper;

/**
 * Writes random blobs with the classes of Connect and Kafka Streams, for formats without a generated message class.
 *
 * Arguments: seed, blobs per kind and version. Each line of the output has four columns separated by tabs: kind, version,
 * bytes in hex, JSON of the original fields.
 */
public class Embedded {
    private static final String[] NAMES = {"a", "topic-0", "ü€", "😀", "\u0000x", "x".repeat(200), ""};
    private static final ObjectMapper JSON = new ObjectMapper();
    private static Random random;
    private static PrintStream out;

    public static void main(String[] arguments) throws Exception {
        random = new Random(Long.parseLong(arguments[0]));
        int count = Integer.parseInt(arguments[1]);
        out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false, "UTF-8");
        for (int instance = 0; instance < count; instance++) {
            connect("connect_metadata", 0, ConnectProtocol.CONFIG_STATE_V0);
            connect("connect_assignment", 0, ConnectProtocol.ASSIGNMENT_V0);
            for (int version = 1; version <= 2; version++) {
                connect("connect_metadata", version, IncrementalCooperativeConnectProtocol.CONFIG_STATE_V1);
                connect("connect_assignment", version, IncrementalCooperativeConnectProtocol.ASSIGNMENT_V1);
            }
            for (int version = 1; version <= 11; version++) {
                assignment(version);
            }
        }
        out.flush();
    }

    private static void print(String kind, int version, byte[] bytes, Object content) throws Exception {
        String hex = HexFormat.of().formatHex(bytes);
        out.print(kind + "\t" + version + "\t" + hex + "\t" + JSON.writeValueAsString(content) + "\n");
    }

    private static String name() {
        return NAMES[random.nextInt(NAMES.length)];
    }

    private static void connect(String kind, int version, Schema schema) throws Exception {
        Map<String, Object> content = new LinkedHashMap<>();
        Struct struct = struct(schema, content);
        ByteBuffer buffer = ByteBuffer.allocate(2 + schema.sizeOf(struct));
        buffer.putShort((short) version);
        schema.write(buffer, struct);
        content.put("version", version);
        print(kind, version, buffer.array(), content);
    }

    private static Struct struct(Schema schema, Map<String, Object> content) {
        Struct struct = new Struct(schema);
        for (BoundField bound : schema.fields()) {
            Type type = bound.def.type;
            Object value;
            Object json;
            if (type.isNullable() && random.nextInt(4) == 0) {
                value = null;
                json = null;
            } else if (type.arrayElementType().isPresent()) {
                List<Object> jsonElements = new ArrayList<>();
                value = array(type.arrayElementType().get(), jsonElements);
                json = jsonElements;
            } else {
                value = primitive(type);
                json = value instanceof ByteBuffer ? ((ByteBuffer) value).array() : value;
            }
            struct.set(bound, value);
            content.put(bound.def.name.replace('-', '_'), json);
        }
        return struct;
    }

    private static Object[] array(Type element, List<Object> jsonElements) {
        Object[] elements = new Object[random.nextInt(4)];
        for (int at = 0; at < elements.length; at++) {
            if (element instanceof Schema) {
                Map<String, Object> content = new LinkedHashMap<>();
                elements[at] = struct((Schema) element, content);
                jsonElements.add(content);
            } else {
                elements[at] = primitive(element);
                jsonElements.add(elements[at]);
            }
        }
        return elements;
    }

    private static Object primitive(Type type) {
        if (type == Type.INT16) {
            return (short) random.nextInt();
        } else if (type == Type.INT32) {
            return random.nextBoolean() ? -1 : random.nextInt();
        } else if (type == Type.INT64) {
            return random.nextLong();
        } else if (type == Type.STRING) {
            return name();
        }
        byte[] bytes = new byte[random.nextInt(50)];
        random.nextBytes(bytes);
        return ByteBuffer.wrap(bytes);
    }

    private static void assignment(int version) throws Exception {
        Map<String, Object> content = new LinkedHashMap<>();
        content.put("version", version);
        int supported = 1 + random.nextInt(11);
        List<TaskId> active = new ArrayList<>();
        List<Object> activeJson = new ArrayList<>();
        for (int at = random.nextInt(4); at > 0; at--) {
            TaskId task = task(version);
            active.add(task);
            activeJson.add(toJson(task));
        }
        Map<TaskId, Set<TopicPartition>> standby = new LinkedHashMap<>();
        List<Object> standbyJson = new ArrayList<>();
        for (int at = random.nextInt(3); at > 0; at--) {
            TaskId task = task(version);
            if (!standby.containsKey(task)) {
                Set<TopicPartition> partitions = partitions();
                standby.put(task, partitions);
                Map<String, Object> json = toJson(task);
                json.put("partitions", toJson(partitions));
                standbyJson.add(json);
            }
        }
        Map<HostInfo, Set<TopicPartition>> byHost = hosts();
        Map<HostInfo, Set<TopicPartition>> standbyByHost = hosts();
        int error = random.nextInt(4);
        AssignmentInfo info = info(version, supported, active, standby, byHost, standbyByHost, error);
        long next = random.nextLong();
        info.setNextRebalanceTime(next);
        content.put("active_tasks", activeJson);
        content.put("standby_tasks", standbyJson);
        if (version >= 2) {
            content.put("partitions_by_host", hostsToJson(byHost));
        }
        if (version >= 3) {
            content.put("commonly_supported_version", supported);
        }
        if (version >= 4) {
            content.put("error_code", error);
        }
        if (version >= 6) {
            content.put("standby_partitions_by_host", hostsToJson(standbyByHost));
        }
        if (version >= 7) {
            content.put("next_rebalance_ms", next);
        }
        ByteBuffer encoded = info.encode();
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        print("streams_assignment_info", version, bytes, content);
    }

    private static AssignmentInfo info(int version, int supported, List<TaskId> active, Map<TaskId, Set<TopicPartition>> standby,
            Map<HostInfo, Set<TopicPartition>> byHost, Map<HostInfo, Set<TopicPartition>> standbyByHost, int error)
            throws Exception {
        Constructor<AssignmentInfo> constructor = AssignmentInfo.class.getDeclaredConstructor(
            int.class, int.class, List.class, Map.class, Map.class, Map.class, int.class);
        constructor.setAccessible(true);
        return constructor.newInstance(version, supported, active, standby, byHost, standbyByHost, error);
    }

    private static TaskId task(int version) {
        String topology = version >= 10 && random.nextBoolean() ? "topo-" + random.nextInt(9) + "ü😀" : null;
        return new TaskId(random.nextInt(5), random.nextInt(100), topology);
    }

    private static Map<String, Object> toJson(TaskId task) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("subtopology", task.subtopology());
        json.put("partition", task.partition());
        json.put("named_topology", task.topologyName());
        return json;
    }

    private static Set<TopicPartition> partitions() {
        Set<TopicPartition> partitions = new LinkedHashSet<>();
        for (int at = random.nextInt(4); at > 0; at--) {
            partitions.add(new TopicPartition(name(), random.nextInt(100)));
        }
        return partitions;
    }

    private static Map<String, List<Integer>> toJson(Set<TopicPartition> partitions) {
        Map<String, List<Integer>> json = new HashMap<>();
        for (TopicPartition partition : partitions) {
            json.computeIfAbsent(partition.topic(), none -> new ArrayList<>()).add(partition.partition());
        }
        return json;
    }

    private static Map<HostInfo, Set<TopicPartition>> hosts() {
        Map<HostInfo, Set<TopicPartition>> hosts = new LinkedHashMap<>();
        for (int at = random.nextInt(3); at > 0; at--) {
            hosts.put(new HostInfo("host-" + at, random.nextInt(65536)), partitions());
        }
        return hosts;
    }

    private static Map<String, Object> hostsToJson(Map<HostInfo, Set<TopicPartition>> hosts) {
        Map<String, Object> json = new HashMap<>();
        hosts.forEach((host, partitions) -> json.put(host.host() + ":" + host.port(), toJson(partitions)));
        return json;
    }
}
