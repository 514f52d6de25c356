import java.util.Map;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListener;

/**
 * Spring Kafka without Spring Boot, with its own defaults but for the session and the start: `Spring KIND BOOTSTRAP
 * GROUP NUMBER`. It reads the topic with the name of the group and commits until SIGTERM, and then stops.
 */
public final class Spring {
    public static void main(String[] arguments) {
        Map<String, Object> config = Map.of(
                "bootstrap.servers", arguments[1], "auto.offset.reset", "earliest",
                "session.timeout.ms", 6000, "heartbeat.interval.ms", 1000);
        ContainerProperties properties = new ContainerProperties(arguments[2]);
        properties.setGroupId(arguments[2]);
        properties.setMessageListener((MessageListener<String, String>) message -> { });
        var factory = new DefaultKafkaConsumerFactory<>(config, new StringDeserializer(), new StringDeserializer());
        var container = new ConcurrentMessageListenerContainer<>(factory, properties);
        Runtime.getRuntime().addShutdownHook(new Thread(container::stop));
        container.start();
    }
}
