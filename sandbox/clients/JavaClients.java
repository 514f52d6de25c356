import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Exit;

/**
 * One JVM with Kafka's own clients (consumers, share consumers) and Kafka's official tools, whose
 * output is captured. Requests and answers are lines of JSON on standard input and output, each with the id of its
 * request; the end of the input ends the program.
 */
public final class JavaClients {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long TASK_SECONDS = 60;

    private final PrintStream answers;
    private final Map<String, Client> clients = new ConcurrentHashMap<>();

    private JavaClients(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] arguments) throws Exception {
        JavaClients program = new JavaClients(System.out);
        System.setOut(System.err);
        // A tool that exits would end the JVM of all clients.
        Exit.setExitProcedure((code, message) -> {
            throw new ToolEnded(code, message);
        });
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode request = JSON.readTree(line);
            Thread worker = new Thread(() -> program.answer(request));
            worker.setDaemon(true);
            worker.start();
        }
        Runtime.getRuntime().halt(0);
    }

    private void answer(JsonNode request) {
        ObjectNode answer = JSON.createObjectNode().put("id", request.get("id").asLong());
        try {
            answer.put("result", perform(request));
        } catch (Throwable error) {
            Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
            answer.put("error", String.valueOf(cause));
        }
        synchronized (answers) {
            answers.println(answer);
            answers.flush();
        }
    }

    private String perform(JsonNode request) throws Exception {
        String name = request.path("name").asText();
        switch (request.get("do").asText()) {
            case "tool":
                return tool(request.get("main").asText(), words(request.get("arguments")));
            case "open":
                clients.put(name, open(request));
                return "";
            case "commit":
                clients.get(name).call(Client::commit);
                return "";
            case "close":
                clients.get(name).end(request.get("leaving").asBoolean());
                clients.remove(name);
                return "";
            default:
                throw new IllegalArgumentException(request.toString());
        }
    }

    /** Runs a tool and returns its output; one at a time, because standard output belongs to the whole JVM. */
    private static synchronized String tool(String main, List<String> arguments) throws Exception {
        ByteArrayOutputStream captured = new ByteArrayOutputStream();
        PrintStream previous = System.out;
        System.setOut(new PrintStream(captured, true, StandardCharsets.UTF_8));
        try {
            Class.forName(main)
                    .getMethod("main", String[].class)
                    .invoke(null, (Object) arguments.toArray(new String[0]));
        } catch (InvocationTargetException error) {
            if (!(error.getCause() instanceof ToolEnded ended && ended.code == 0)) {
                captured.write(("\nError: " + error.getCause()).getBytes(StandardCharsets.UTF_8));
            }
        } finally {
            System.setOut(previous);
        }
        return captured.toString(StandardCharsets.UTF_8);
    }

    private static Client open(JsonNode request) throws Exception {
        Properties config = new Properties();
        request.get("config").fields().forEachRemaining(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        switch (request.get("kind").asText()) {
            case "consumer":
                return new Consumer(config, request);
            case "share":
                return new ShareConsumer(config, request);
            default:
                throw new IllegalArgumentException(request.toString());
        }
    }

    private static List<String> words(JsonNode array) {
        List<String> words = new ArrayList<>();
        array.forEach(word -> words.add(word.asText()));
        return words;
    }

    /** Thrown in a tool in place of ending the JVM. */
    private static final class ToolEnded extends RuntimeException {
        private final int code;

        ToolEnded(int code, String message) {
            super("exit " + code + (message == null ? "" : ": " + message));
            this.code = code;
        }
    }

    private interface Task {
        void run(Client client) throws Exception;
    }

    /** A member of a group. Kafka's clients belong to one thread: it polls, and runs requested tasks between polls. */
    private abstract static class Client {
        private final BlockingQueue<FutureTask<Void>> tasks = new LinkedBlockingQueue<>();
        private volatile boolean ended;

        final void begin() {
            Thread thread = new Thread(this::run);
            thread.setDaemon(true);
            thread.start();
        }

        private void run() {
            while (!ended) {
                FutureTask<Void> task = tasks.poll();
                if (task != null) {
                    task.run();
                    continue;
                }
                try {
                    poll();
                } catch (Exception error) {
                    System.err.println("client: " + error);
                    pause();
                }
            }
        }

        private static void pause() {
            try {
                Thread.sleep(200);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }

        final void call(Task requested) throws Exception {
            Callable<Void> body = () -> {
                requested.run(this);
                return null;
            };
            FutureTask<Void> task = new FutureTask<>(body);
            tasks.add(task);
            task.get(TASK_SECONDS, TimeUnit.SECONDS);
        }

        final void end(boolean leaving) throws Exception {
            call(client -> {
                ended = true;
                close(leaving);
            });
        }

        abstract void poll() throws Exception;

        abstract void close(boolean leaving);

        void commit() {}
    }

    /** A consumer, classic or KIP-848 by its configuration; it commits its positions. */
    private static final class Consumer extends Client {
        private final KafkaConsumer<byte[], byte[]> consumer;

        Consumer(Properties config, JsonNode request) {
            consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(words(request.get("topics")));
            begin();
        }

        @Override
        void poll() {
            consumer.poll(Duration.ofMillis(100));
        }

        @Override
        void commit() {
            Map<TopicPartition, OffsetAndMetadata> commits = new HashMap<>();
            for (TopicPartition place : consumer.assignment()) {
                commits.put(place, new OffsetAndMetadata(consumer.position(place, Duration.ofSeconds(10))));
            }
            if (!commits.isEmpty()) {
                consumer.commitSync(commits, Duration.ofSeconds(10));
            }
        }

        @Override
        void close(boolean leaving) {
            consumer.close(CloseOptions.timeout(Duration.ofSeconds(10)).withGroupMembershipOperation(
                    leaving ? GroupMembershipOperation.LEAVE_GROUP : GroupMembershipOperation.REMAIN_IN_GROUP));
        }
    }

    /** A faulty assignor: the last partition of the last topic is assigned to no member. */
    public static final class IncompleteAssignor extends RangeAssignor {
        @Override
        public String name() {
            return "incomplete";
        }

        @Override
        public GroupAssignment assign(Cluster metadata, GroupSubscription subscriptions) {
            Comparator<TopicPartition> order =
                    Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition);
            Map<String, Assignment> whole = super.assign(metadata, subscriptions).groupAssignment();
            TopicPartition last = whole.values().stream()
                    .flatMap(each -> each.partitions().stream())
                    .max(order)
                    .orElse(null);
            Map<String, Assignment> assigned = new HashMap<>();
            whole.forEach((member, each) -> {
                List<TopicPartition> left = new ArrayList<>(each.partitions());
                left.remove(last);
                assigned.put(member, new Assignment(left, each.userData()));
            });
            return new GroupAssignment(assigned);
        }
    }

    /**
     * A share consumer: its next poll acknowledges the records of the previous one. With explicit acknowledgement
     * `acknowledge` says how, after `hold.ms`; `NEVER` keeps all it gets.
     */
    private static final class ShareConsumer extends Client {
        private final KafkaShareConsumer<byte[], byte[]> consumer;
        private final String acknowledge;
        private final long holdMs;
        private boolean holds;

        ShareConsumer(Properties config, JsonNode request) {
            acknowledge = (String) config.remove("acknowledge");
            String hold = (String) config.remove("hold.ms");
            holdMs = hold == null ? 0 : Long.parseLong(hold);
            consumer = new KafkaShareConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(words(request.get("topics")));
            begin();
        }

        @Override
        void poll() throws Exception {
            if ("NEVER".equals(acknowledge) && holds) {
                // Kafka refuses a poll before all records are acknowledged, so this member hangs with what it has.
                Thread.sleep(100);
                return;
            }
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
            if (!records.isEmpty()) {
                Thread.sleep(holdMs);
            }
            for (ConsumerRecord<byte[], byte[]> each : records) {
                holds = true;
                if (acknowledge != null && !"NEVER".equals(acknowledge)) {
                    consumer.acknowledge(each, AcknowledgeType.valueOf(acknowledge));
                }
            }
        }

        @Override
        void close(boolean leaving) {
            consumer.close(Duration.ofSeconds(10));
        }
    }
}
