import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Reads one partition without a group: BOOTSTRAP TOPIC FIRST_OFFSET TIMESTAMP. Prints what it learned, one fact a line. */
public class AssignedConsumer {
    public static void main(String[] arguments) {
        TopicPartition partition = new TopicPartition(arguments[1], 0);
        long firstOffset = Long.parseLong(arguments[2]);
        long timestamp = Long.parseLong(arguments[3]);
        Map<String, Object> config = Map.of("bootstrap.servers", arguments[0], "auto.offset.reset", "none");
        try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            System.out.println("beginning=" + consumer.beginningOffsets(List.of(partition)).get(partition));
            System.out.println("end=" + end);
            System.out.println("at_time=" + consumer.offsetsForTimes(Map.of(partition, timestamp)).get(partition));
            System.out.println("partitions=" + consumer.partitionsFor(partition.topic()).size());
            consumer.assign(List.of(partition));
            consumer.seek(partition, firstOffset);
            while (consumer.position(partition) < end) {
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofSeconds(10))) {
                    System.out.println("record=" + each.offset() + "," + each.key() + "," + each.value() + "," + each.timestamp());
                }
            }
            System.out.println("lag=" + consumer.currentLag(partition).getAsLong());
        }
    }
}
