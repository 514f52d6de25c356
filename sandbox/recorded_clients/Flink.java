import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;

/**
 * Flink's Kafka source in a cluster of this process: `Flink KIND BOOTSTRAP GROUP NUMBER`. It starts at the offsets of
 * the group, prints the topic with its name, commits with a checkpoint each second, and stops at SIGTERM with a savepoint.
 */
public final class Flink {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment job = StreamExecutionEnvironment.createLocalEnvironment(1);
        job.enableCheckpointing(1000);
        KafkaSource<String> source = KafkaSource.<String>builder()
                .setBootstrapServers(arguments[1])
                .setTopics(arguments[2])
                .setGroupId(arguments[2])
                .setStartingOffsets(OffsetsInitializer.committedOffsets(OffsetResetStrategy.EARLIEST))
                .setValueOnlyDeserializer(new SimpleStringSchema())
                .build();
        job.fromSource(source, WatermarkStrategy.noWatermarks(), "source").print();
        JobClient running = job.executeAsync();
        String savepoints = System.getProperty("java.io.tmpdir") + "/" + running.getJobID();
        Runtime.getRuntime().addShutdownHook(new Thread(
                () -> running.stopWithSavepoint(false, savepoints, SavepointFormatType.CANONICAL).join()));
    }
}
